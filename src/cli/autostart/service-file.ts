import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder, writeDurably } from '../../kernel/files/durable-file.ts'
import { readForeign } from '../../kernel/files/foreign-file.ts'

/** In every file that Toolroom writes for a service manager. A file without it belongs to another program. */
export const OURS = 'Written by `toolroom service install`. `toolroom service uninstall` removes it.'

const MAX_BYTES = 65_536

/** The file that describes the service. It is restored when what comes after its writing fails. */
export class ServiceFile {
  readonly path: string
  readonly #encoding: BufferEncoding

  constructor(path: string, encoding: BufferEncoding = 'utf8') {
    this.path = path
    this.#encoding = encoding
  }

  read(): string | undefined {
    try {
      return readForeign(this.path, MAX_BYTES).bytes.toString(this.#encoding)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  isOurs(): boolean {
    return this.read()?.includes(OURS) ?? false
  }

  /** Throws for a file of another program. */
  refuseForeign(): void {
    if (this.read() !== undefined && !this.isOurs())
      throw new Error(`${this.path} exists and was not written by Toolroom`)
  }

  /** Writes it for `work`, and takes that back if `work` fails. */
  async writeFor(text: string, work: () => Promise<void>): Promise<void> {
    const before = this.read()
    makeFolder(dirname(this.path))
    this.#write(text)
    try {
      await work()
    } catch (error) {
      if (before === undefined) this.remove()
      else this.#write(before)
      throw error
    }
  }

  remove(): void {
    rmSync(this.path, { force: true })
  }

  #write(text: string): void {
    writeDurably(this.path, Buffer.from(text, this.#encoding), 0o644)
  }
}
