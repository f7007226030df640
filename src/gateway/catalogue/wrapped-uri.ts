const SCHEME = 'toolroom://'

/** Our URI for a resource whose own URI is listed by another server. */
export const wrap = (serverId: string, uri: string): string =>
  `${SCHEME}${encodeURIComponent(serverId)}/${encodeURIComponent(uri)}`

/** Whether a URI uses our scheme, which servers must not use. */
export const isWrapped = (uri: string): boolean => uri.slice(0, SCHEME.length).toLowerCase() === SCHEME

/** The server and its own URI. Undefined for a URI that `wrap` has not made. */
export function unwrap(wrapped: string): { serverId: string; uri: string } | undefined {
  if (!isWrapped(wrapped)) return undefined
  const [serverId = '', ...rest] = wrapped.slice(SCHEME.length).split('/')
  try {
    const uri = decodeURIComponent(rest.join('/'))
    return uri === '' ? undefined : { serverId: decodeURIComponent(serverId), uri }
  } catch {
    return undefined // not percent-encoded by `wrap`
  }
}
