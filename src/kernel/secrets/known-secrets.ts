import { MASK, maskText } from './mask-secrets.ts'
import { plainText } from './strip-terminal-codes.ts'

const MIN_LENGTH = 8

/** The stored secrets by owner, to redact exactly these from text. In memory only. */
export class KnownSecrets {
  readonly #byOwner = new Map<string, readonly string[]>()
  #pattern: RegExp | undefined

  set(owner: string, secrets: readonly string[]): void {
    this.#byOwner.set(owner, secrets)
    this.#pattern = undefined
  }

  delete(owner: string): void {
    this.#byOwner.delete(owner)
    this.#pattern = undefined
  }

  /** Masks every known secret. Secrets under 8 characters stay: they would match ordinary words. */
  redact(text: string): string {
    this.#pattern ??= this.#compile()
    return text.replace(this.#pattern, MASK)
  }

  #compile(): RegExp {
    const spellings = new Set<string>()
    for (const secret of [...this.#byOwner.values()].flat()) {
      if (secret.length < MIN_LENGTH) continue
      spellings.add(secret)
      spellings.add(secret.trim())
      spellings.add(encodeURIComponent(secret.toWellFormed()))
      spellings.add(JSON.stringify(secret).slice(1, -1))
    }
    // Longest first: if one secret contains another, all of it is masked.
    const longestFirst = [...spellings]
      .filter((s) => s.length >= MIN_LENGTH)
      .sort((a, b) => b.length - a.length)
    const never = '(?!)'
    return new RegExp(longestFirst.map(escapeRegExp).join('|') || never, 'g')
  }
}

const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')

/**
 * Text of a server or of npm, as it is stored and shown: without terminal sequences, which could also hide a secret,
 * then without known secrets, then without what looks like one.
 */
export const redactText = (text: string, secrets: KnownSecrets): string =>
  maskText(secrets.redact(plainText(text)))
