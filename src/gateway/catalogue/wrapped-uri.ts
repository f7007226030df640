const SCHEME = 'toolroom://'
const PAGE = 'ui://'

/** Our URI for a resource of a server. That of a page keeps its scheme, because hosts show no other. */
export const wrap = (serverId: string, uri: string): string =>
  isPage(uri)
    ? `${PAGE}${encodeURIComponent(serverId)}/${uri.slice(PAGE.length)}`
    : `${SCHEME}${encodeURIComponent(serverId)}/${encodeURIComponent(uri)}`

/** Whether a URI is that of a page of MCP Apps, or of something that belongs to one. */
export const isPage = (uri: string): boolean => uri.startsWith(PAGE)

/** Whether a URI uses our scheme, which servers must not use. */
export const isWrapped = (uri: string): boolean => uri.slice(0, SCHEME.length).toLowerCase() === SCHEME

/** The server and its own URI. Undefined for a URI that `wrap` cannot have made. */
export function unwrap(wrapped: string): { serverId: string; uri: string } | undefined {
  if (!isPage(wrapped) && !isWrapped(wrapped)) return undefined
  const start = (isPage(wrapped) ? PAGE : SCHEME).length
  const end = wrapped.indexOf('/', start)
  if (end < 0) return undefined
  const rest = wrapped.slice(end + 1)
  try {
    const serverId = decodeURIComponent(wrapped.slice(start, end))
    const uri = isPage(wrapped) ? PAGE + rest : decodeURIComponent(rest)
    return uri === '' ? undefined : { serverId, uri }
  } catch {
    return undefined // not percent-encoded by `wrap`
  }
}
