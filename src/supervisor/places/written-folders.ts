import { writeDurably } from '../../kernel/files/durable-file.ts'
import { readForeign } from '../../kernel/files/foreign-file.ts'
import { isInside } from '../../kernel/grantable-path.ts'

const MAX_BYTES = 4 * 1024 * 1024

/**
 * The real paths of all folders that a server in isolation may write, or could write once: links in them are not followed.
 * Without a file they are known for one run only.
 */
export class WrittenFolders {
  readonly #file: string | undefined
  #folders: readonly string[] | undefined
  #isStored = true

  constructor(file?: string) {
    this.#file = file
  }

  get all(): readonly string[] {
    this.#folders ??= this.#file === undefined ? [] : read(this.#file)
    return this.#folders
  }

  /** If they cannot be stored, the next call tries again. */
  add(paths: readonly string[]): void {
    const known = this.all
    const more = paths.filter((path) => !known.some((each) => isInside(path, each)))
    if (more.length > 0) {
      this.#folders = [
        ...known.filter((each) => !more.some((path) => isInside(each, path))),
        ...new Set(more),
      ]
      this.#isStored = false
    }
    if (this.#isStored || this.#file === undefined) return
    try {
      writeDurably(this.#file, `${JSON.stringify(this.#folders, null, 2)}\n`, 0o600)
      this.#isStored = true
    } catch {
      // A full disk. They are known until the end of this run.
    }
  }
}

function read(file: string): readonly string[] {
  try {
    const found: unknown = JSON.parse(readForeign(file, MAX_BYTES).bytes.toString('utf8'))
    return Array.isArray(found) ? found.filter((each): each is string => typeof each === 'string') : []
  } catch {
    return [] // no server in isolation could write anything yet
  }
}
