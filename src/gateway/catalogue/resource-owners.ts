import { isObject } from '../../kernel/is-object.ts'

const MOST = 10_000
const LONGEST_URI = 4096

/** Whose resource it is that a result spoke of: it stands in no list, and an agent wants to read it all the same. */
export class Links {
  readonly #servers = new Map<string, string>()

  serverOf(uri: string): string | undefined {
    const serverId = this.#servers.get(uri)
    if (serverId !== undefined) this.#keep(uri, serverId)
    return serverId
  }

  /**
   * Remembers what a result speaks of. `named` says how an agent has to call it; when that is another name, the result is
   * given back with that name in it, else as it was. Nearly free where nothing is spoken of.
   */
  through(serverId: string, result: unknown, named: (uri: string) => string): unknown {
    if (!isObject(result)) return result
    const seen = (uri: string): string => {
      if (uri.length <= LONGEST_URI) this.#keep(uri, serverId)
      return named(uri)
    }
    for (const [field, read] of READERS) {
      const items = result[field]
      if (!Array.isArray(items)) continue
      const after = items.map((item) => read(item, seen))
      if (after.some((item, at) => item !== items[at])) return { ...result, [field]: after }
    }
    return result
  }

  /** The one that was used longest ago goes first. */
  #keep(uri: string, serverId: string): void {
    this.#servers.delete(uri)
    this.#servers.set(uri, serverId)
    if (this.#servers.size <= MOST) return
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

/** Where results of tools/call, prompts/get and resources/read speak of resources. */
const READERS: readonly (readonly [string, Read])[] = [
  ['content', readContent],
  ['messages', readMessage],
  ['contents', renamed],
]
