import { isObject } from '../../kernel/json/json-checks.ts'
import { withPages } from './app-pages.ts'

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
   * Remembers the resources that a result mentions. Returns the result with the URIs that `nameOf` returns, or the same
   * object when none differs.
   */
  record(serverId: string, result: unknown, nameOf: (uri: string) => string): unknown {
    if (!isObject(result)) return result
    const rename = (uri: string): string => {
      if (uri.length <= MAX_URI_CHARS) this.#keep(uri, serverId)
      return nameOf(uri)
    }
    const named = withPages(result, rename)
    for (const [field, read] of READERS) {
      const items = result[field]
      if (!Array.isArray(items)) continue
      const after = mapped(items, (item) => read(item, rename))
      if (after !== items) return { ...named, [field]: after }
    }
    return named
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

function readContent(item: unknown, rename: Rename): unknown {
  if (!isObject(item)) return item
  if (item.type === 'resource_link') return renamed(item, rename)
  if (item.type !== 'resource') return item
  const resource = renamed(item.resource, rename)
  return resource === item.resource ? item : { ...item, resource }
}

function readMessage(item: unknown, rename: Rename): unknown {
  if (!isObject(item)) return item
  const { content } = item
  const after = Array.isArray(content)
    ? mapped(content, (each) => readContent(each, rename))
    : readContent(content, rename)
  return after === content ? item : { ...item, content: after }
}

/** Returns the same array when no item changes. */
function mapped(items: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  const after = items.map(change)
  return after.every((item, index) => item === items[index]) ? items : after
}

function renamed(holder: unknown, rename: Rename): unknown {
  if (!isObject(holder) || typeof holder.uri !== 'string') return holder
  const uri = rename(holder.uri)
  return uri === holder.uri ? holder : { ...holder, uri }
}

/** The fields in which results of tools/call, prompts/get and resources/read mention resources. */
const READERS: readonly (readonly [string, (item: unknown, rename: Rename) => unknown])[] = [
  ['content', readContent],
  ['messages', readMessage],
  ['contents', renamed],
]
