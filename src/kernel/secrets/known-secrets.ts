import { MASK } from './secrets.ts'

const MIN_LENGTH = 8

/** The secrets we hold, by owner, so that a line can be searched for exactly them. Kept in memory only. */
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

  /** The text with every known secret hidden. Secrets under 8 characters are left: they would hide half the language. */
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
    // Longest first: where one secret contains another, all of it must go.
    const longestFirst = [...spellings]
      .filter((s) => s.length >= MIN_LENGTH)
      .sort((a, b) => b.length - a.length)
    const never = '(?!)'
    return new RegExp(longestFirst.map(escapeRegExp).join('|') || never, 'g')
  }
}

const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
