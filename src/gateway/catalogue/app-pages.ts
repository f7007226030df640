import { isObject } from '../../kernel/json/json-checks.ts'
import type { Definition } from '../../mcp/protocol/listed-definitions.ts'
import { isPage } from './wrapped-uri.ts'

/** Where `_meta` names a page, beside `ui.resourceUri`: the first form of MCP Apps, and the one of the OpenAI Apps SDK. */
export const OTHER_PAGE_NAMES = ['ui/resourceUri', 'openai/outputTemplate']

/**
 * A tool, or the result of one, with other URIs for the pages that its `_meta` names. The same object when nothing changes.
 */
export function withPages(holder: Definition, rename: (uri: string) => string): Definition {
  const { _meta } = holder
  if (!isObject(_meta)) return holder
  const ui = isObject(_meta.ui) ? renamedIn(_meta.ui, ['resourceUri'], rename) : _meta.ui
  const meta = renamedIn(ui === _meta.ui ? _meta : { ..._meta, ui }, OTHER_PAGE_NAMES, rename)
  return meta === _meta ? holder : { ...holder, _meta: meta }
}

function renamedIn(
  holder: Definition,
  names: readonly string[],
  rename: (uri: string) => string,
): Definition {
  let after = holder
  for (const name of names) {
    const uri = holder[name]
    if (typeof uri === 'string' && isPage(uri)) after = { ...after, [name]: rename(uri) }
  }
  return after
}

/** The pages of a tool, by the URIs of its server. */
export function pagesOf(tool: Definition): string[] {
  const uris: string[] = []
  withPages(tool, (uri) => {
    uris.push(uri)
    return uri
  })
  return uris
}

/** False for a tool that only the page of its server may call. */
export function isForModel({ _meta }: Definition): boolean {
  const visibility = isObject(_meta) && isObject(_meta.ui) ? _meta.ui.visibility : undefined
  return !Array.isArray(visibility) || visibility.includes('model')
}
