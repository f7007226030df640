import { isObject } from '../../kernel/is-object.ts'

const MAX_URIS = 10_000
const MAX_URI_CHARS = 4096

/** The servers of resources that results have mentioned. Such resources are often not listed, but agents read them. */
export class ResourceOwners {
  readonly #servers = new Map<string, string>()

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
    const seen = (uri: string): string => {
      if (uri.length <= MAX_URI_CHARS) this.#keep(uri, serverId)
      return nameOf(uri)
    }
    for (const [field, read] of READERS) {
      const items = result[field]
      if (!Array.isArray(items)) continue
      const after = items.map((item) => read(item, seen))
      if (after.some((item, at) => item !== items[at])) return { ...result, [field]: after }
    }
    return result
  }

  /** Drops the least recently used URI at the limit. */
  #keep(uri: string, serverId: string): void {
    this.#servers.delete(uri)
    this.#servers.set(uri, serverId)
    if (this.#servers.size <= MAX_URIS) return
    for (const oldest of this.#servers.keys()) {
      this.#servers.delete(oldest)
      break
    }
  }
}

type Read = (item: unknown, seen: (uri: string) => string) => unknown

function readContent(item: unknown, seen: (uri: string) => string): unknown {
  if (!isObject(item)) return item
  if (item.type === 'resource_link') return renamed(item, seen)
  if (item.type !== 'resource') return item
  const resource = renamed(item.resource, seen)
  return resource === item.resource ? item : { ...item, resource }
}

function readMessage(item: unknown, seen: (uri: string) => string): unknown {
  if (!isObject(item)) return item
  const { content } = item
  const after = Array.isArray(content)
    ? content.map((each) => readContent(each, seen))
    : readContent(content, seen)
  const same = Array.isArray(content)
    ? content.every((each, at) => each === (after as unknown[])[at])
    : after === content
  return same ? item : { ...item, content: after }
}

function renamed(holder: unknown, seen: (uri: string) => string): unknown {
  if (!isObject(holder) || typeof holder.uri !== 'string') return holder
  const uri = seen(holder.uri)
  return uri === holder.uri ? holder : { ...holder, uri }
}

/** The fields in which results of tools/call, prompts/get and resources/read mention resources. */
const READERS: readonly (readonly [string, Read])[] = [
  ['content', readContent],
  ['messages', readMessage],
  ['contents', renamed],
]
