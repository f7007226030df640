import { isObject } from '../../kernel/is-object.ts'
import type { Params } from './call.ts'
import { META_PREFIX } from './meta.ts'

/** MCP Apps: an extension with which a tool names a page, a `ui://` resource that hosts show beside its results. */
export const UI = `${META_PREFIX}ui`

/** What a client declares that shows pages. */
export const SHOWS_PAGES = { [UI]: { mimeTypes: ['text/html;profile=mcp-app'] } }

/** The `extensions` of a client or a server, reduced to MCP Apps. Undefined when it does not declare them. */
export function uiIn({ extensions }: Params): Params | undefined {
  return isObject(extensions) && extensions[UI] !== undefined ? { [UI]: extensions[UI] } : undefined
}
