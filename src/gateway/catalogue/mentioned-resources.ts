import { itemsOf } from '../../mcp/protocol/json-items.ts'
import {
  isObjectJson,
  memberOf,
  membersWith,
  partAt,
  plainOf,
  RawJson,
  textOf,
  UnparsedJson,
  withMembers,
} from '../../mcp/protocol/raw-json.ts'
import { OTHER_PAGE_NAMES } from './app-pages.ts'
import { isPage } from './wrapped-uri.ts'

const MAX_URIS = 10_000
const MAX_URI_CHARS = 4096
/** Of all of them together. */
const MAX_CHARS = 4 * 1024 * 1024

/** The servers of resources that results have mentioned. Such resources are often not listed, but agents read them. */
export class MentionedResources {
  readonly #servers = new Map<string, string>()
  #chars = 0

  serverOf(uri: string): string | undefined {
    const serverId = this.#servers.get(uri)
    if (serverId !== undefined) this.#keep(uri, serverId)
    return serverId
  }

  /**
   * Remembers the resources that a result mentions. Returns the result with the URIs that `nameOf` returns, or undefined when
   * none differs. It reads the bytes: only what mentions a resource is parsed, and all others are copied as they are.
   */
  record(serverId: string, result: RawJson, nameOf: (uri: string) => string): RawJson | undefined {
    const rename = (uri: string): string => {
      if (uri.length <= MAX_URI_CHARS) this.#keep(uri, serverId)
      return nameOf(uri)
    }
    const changes: Record<string, unknown> = {}
    const { _meta: meta, ...lists } = membersWith(result, ['_meta', 'content', 'messages', 'contents'])
    if (isObjectJson(meta)) changes._meta = withPageNames(meta, rename)
    for (const [field, read] of READERS) {
      const items = lists[field]
      if (items !== undefined) changes[field] = mapped(items, (item) => read(item, rename))
    }
    const changed = Object.entries(changes).filter(([, change]) => change !== undefined)
    return changed.length === 0 ? undefined : (withMembers(result, Object.fromEntries(changed)) as RawJson)
  }

  /** Drops the least recently used URIs at the limit. */
  #keep(uri: string, serverId: string): void {
    if (!this.#servers.delete(uri)) this.#chars += uri.length
    this.#servers.set(uri, serverId)
    for (const oldest of this.#servers.keys()) {
      if (this.#servers.size <= MAX_URIS && this.#chars <= MAX_CHARS) return
      this.#servers.delete(oldest)
      this.#chars -= oldest.length
    }
  }
}

type Rename = (uri: string) => string
/** Returns undefined when nothing changes. */
type Read = (item: unknown, rename: Rename) => unknown

/** Of a list, so many items are read. No result has more; those after them keep their URIs. */
const MAX_ITEMS = 10_000

const readContent: Read = (item, rename) => {
  const type = plainOf(memberOf(item, 'type'))
  if (type === 'resource_link') return renamed(item, rename)
  if (type !== 'resource') return undefined
  const resource = renamed(memberOf(item, 'resource'), rename)
  return resource === undefined ? undefined : withMembers(item, { resource })
}

const readMessage: Read = (item, rename) => {
  const content = memberOf(item, 'content')
  const after = isObjectJson(content)
    ? readContent(content, rename)
    : mapped(content, (each) => readContent(each, rename))
  return after === undefined ? undefined : withMembers(item, { content: after })
}

/** Items that do not change are copied together. */
function mapped(list: unknown, change: (item: RawJson) => unknown): RawJson | undefined {
  if (!(list instanceof RawJson)) return undefined
  const bytes = Buffer.from(list.json)
  const parts: Buffer[] = []
  let copyFrom = 0
  for (const { start, end } of itemsOf(bytes, 0, MAX_ITEMS).slice(0, MAX_ITEMS)) {
    if (bytes[start] !== OPEN_BRACE) continue
    const after = change(partAt(bytes, start, end))
    if (after === undefined) continue
    parts.push(bytes.subarray(copyFrom, start), Buffer.from(textOf(after)))
    copyFrom = end
  }
  return parts.length === 0
    ? undefined
    : new UnparsedJson(Buffer.concat([...parts, bytes.subarray(copyFrom)]))
}
const OPEN_BRACE = 0x7b

const renamed: Read = (holder, rename) => renamedIn(holder, ['uri'], rename, () => true)

function renamedIn(
  holder: unknown,
  names: readonly string[],
  rename: Rename,
  isRenamed: (uri: string) => boolean,
): unknown {
  const changes: Record<string, string> = {}
  const given = membersWith(holder, names)
  for (const name of names) {
    const uri = plainOf(given[name])
    if (typeof uri !== 'string' || !isRenamed(uri)) continue
    const after = rename(uri)
    if (after !== uri) changes[name] = after
  }
  return Object.keys(changes).length === 0 ? undefined : withMembers(holder, changes)
}

/** The `_meta` of a result with other URIs for the pages that it names. */
function withPageNames(meta: unknown, rename: Rename): unknown {
  const given = membersWith(meta, ['ui', ...OTHER_PAGE_NAMES])
  const changes: Record<string, unknown> = {}
  const ui = renamedIn(given.ui, ['resourceUri'], rename, isPage)
  if (ui !== undefined) changes.ui = ui
  for (const name of OTHER_PAGE_NAMES) {
    const uri = plainOf(given[name])
    if (typeof uri === 'string' && isPage(uri) && rename(uri) !== uri) changes[name] = rename(uri)
  }
  return Object.keys(changes).length === 0 ? undefined : withMembers(meta, changes)
}

/** The fields in which results of tools/call, prompts/get and resources/read mention resources. */
const READERS: readonly (readonly ['content' | 'messages' | 'contents', Read])[] = [
  ['content', readContent],
  ['messages', readMessage],
  ['contents', renamed],
]
