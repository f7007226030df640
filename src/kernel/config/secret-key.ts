import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { configError } from '../exit-codes.ts'
import { makeFolder, writeDurably } from '../files/durable-file.ts'

/** The key that encrypts stored secrets: from the environment, or from a file outside the data folder. */
export class SecretKey {
  readonly file: string
  readonly #given: string | undefined

  constructor(configFolder: string, given: string | undefined) {
    this.file = join(configFolder, 'secret.key')
    this.#given = given
  }

  find(): Buffer | undefined {
    if (this.#given !== undefined) return Buffer.from(this.#given, 'hex')
    if (!existsSync(this.file)) return undefined
    const text = readFileSync(this.file, 'utf8').trim()
    if (!/^[0-9a-f]{64}$/i.test(text)) {
      throw configError(
        `${this.file} does not contain a key of 64 hexadecimal digits; restore it from a backup`,
      )
    }
    chmodSync(this.file, 0o600)
    return Buffer.from(text, 'hex')
  }

  /** Must only be called while nothing is encrypted yet. */
  create(): Buffer {
    const key = randomBytes(32)
    makeFolder(dirname(this.file))
    writeDurably(this.file, `${key.toString('hex')}\n`, 0o600)
    return key
  }
}
