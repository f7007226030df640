const PATH = /^\/mcp(?:\/([^/?#]+))?\/?(?:\?|$)/

/** `/mcp` or `/mcp/{server_id}`. */
export const isMcpPath = (url: string): boolean => url.startsWith('/mcp') && PATH.test(url)

/** The part of the path after `/mcp/`. */
export const serverSegmentOf = (url: string): string | undefined => PATH.exec(url)?.[1]
