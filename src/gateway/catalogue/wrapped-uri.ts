const SCHEME = 'toolroom://'

/** How a resource is named whose URI an earlier server has taken. */
export const wrap = (serverId: string, uri: string): string =>
  `${SCHEME}${encodeURIComponent(serverId)}/${encodeURIComponent(uri)}`

/** Only we name resources so; a server that does would be taken for us. */
export const isWrapped = (uri: string): boolean => uri.slice(0, SCHEME.length).toLowerCase() === SCHEME

/** Undefined when it is none of ours. */
export function unwrap(wrapped: string): { serverId: string; uri: string } | undefined {
  if (!isWrapped(wrapped)) return undefined
  const [serverId = '', ...rest] = wrapped.slice(SCHEME.length).split('/')
  try {
    const uri = decodeURIComponent(rest.join('/'))
    return uri === '' ? undefined : { serverId: decodeURIComponent(serverId), uri }
  } catch {
    return undefined // not made by us
  }
}
