import { existsSync } from 'node:fs'
import { writeDurably } from '../../../kernel/files/durable-file.ts'
import { readForeign } from '../../../kernel/files/foreign-file.ts'
import { isRecord } from './engine.ts'

const MAX_BYTES = 4 * 1024 * 1024

/**
 * Which image each server was started with first, by the id of its contents. A tag may get other contents later, and a
 * server must not change because of that.
 */
export class ImagePins {
  readonly #file: string
  readonly #ids: Map<string, string>

  constructor(file: string) {
    this.#file = file
    this.#ids = read(file)
  }

  /** Undefined if the server has not been started with this image yet. */
  of(serverId: string, image: string): string | undefined {
    return this.#ids.get(keyOf(serverId, image))
  }

  /** The file says that there may be containers of this installation: the next start looks for them. */
  begin(): void {
    if (!existsSync(this.#file)) this.#save()
  }

  pin(serverId: string, image: string, id: string): void {
    // Another image replaces the pin of the former one.
    for (const key of this.#ids.keys()) if (key.startsWith(`${serverId} `)) this.#ids.delete(key)
    this.#ids.set(keyOf(serverId, image), id)
    this.#save()
  }

  #save(): void {
    writeDurably(this.#file, `${JSON.stringify(Object.fromEntries(this.#ids), null, 2)}\n`, 0o600)
  }
}

const keyOf = (serverId: string, image: string): string => `${serverId} ${image}`

function read(file: string): Map<string, string> {
  try {
    const found: unknown = JSON.parse(readForeign(file, MAX_BYTES).bytes.toString('utf8'))
    const entries = isRecord(found) ? Object.entries(found) : []
    return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
  } catch {
    return new Map() // no server was started in a container yet
  }
}
