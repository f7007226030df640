import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Makes secrets that occur nowhere else, and finds them again wherever they should not be. */
export class Canaries {
  /** What to look for, by the place of the secret. */
  readonly #traces = new Map<string, readonly string[]>()

  /**
   * A new secret of letters and digits. `where` says later whose secret leaked. Its beginning and its end count
   * alone, too: V8 quotes ten characters around a fault in JSON.
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

  /** A secret that is given, such as the token. It counts as a whole. */
  keep(where: string, secret: string): void {
    this.#traces.set(where, [secret, inBase64(secret)])
  }

  /** One sentence for each secret that the text holds, whole or in part. */
  in(place: string, content: string): string[] {
    const text = content.toLowerCase()
    const found = [...this.#traces].filter(([, traces]) =>
      traces.some((trace) => text.includes(trace.toLowerCase())),
    )
    return found.map(([where]) => `${place} holds the secret in ${where}`)
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

/** What is left of it whatever stands before: the first two characters depend on their neighbours. */
const inBase64 = (secret: string): string => Buffer.from(secret).toString('base64').slice(4, -4)
