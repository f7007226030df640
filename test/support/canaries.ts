import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Generates unique secrets, and finds them where they must not be. */
export class Canaries {
  /** The strings to search for, by the location of the secret. */
  readonly #traces = new Map<string, readonly string[]>()

  /**
   * A new secret of letters and digits. `where` names it in a finding. Its beginning and its end are searched
   * separately too, because V8 quotes ten characters around a JSON error.
   */
  make(where: string, prefix = ''): string {
    const random = randomBytes(60)
      .toString('base64')
      .replace(/[^A-Za-z0-9]/g, '')
    const secret = `${prefix}a1${random.slice(0, 34)}`
    this.#traces.set(where, [
      secret.slice(prefix.length, prefix.length + 10),
      secret.slice(-10),
      inBase64(secret),
    ])
    return secret
  }

  /** A short secret without the look of a key. */
  word(where: string): string {
    const secret = `a1${randomBytes(6).toString('hex')}`
    this.keep(where, secret)
    return secret
  }

  /** Adds a given secret, such as the token. It is searched as a whole. */
  keep(where: string, secret: string): void {
    this.#traces.set(where, [secret, inBase64(secret)])
  }

  /** One sentence for each secret that the text contains, whole or in part. */
  in(place: string, content: string): string[] {
    const text = content.toLowerCase()
    const found = [...this.#traces].filter(([, traces]) =>
      traces.some((trace) => text.includes(trace.toLowerCase())),
    )
    return found.map(([where]) => `${place} contains the secret from ${where}`)
  }

  /** The same for every byte of every file below a folder. */
  inFiles(folder: string): string[] {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    )
    return files.flatMap(({ parentPath, name }) =>
      this.in(`the file ${name}`, readFileSync(join(parentPath, name), 'latin1')),
    )
  }
}

/** The part of its base64 form that does not depend on the preceding bytes: the first two characters do. */
const inBase64 = (secret: string): string => Buffer.from(secret).toString('base64').slice(4, -4)
