import type { ParsedWords } from '../../kernel/config/parse-flags.ts'

/** The words and flags that a command was given. */
export class Given {
  readonly #parsed: ParsedWords
  readonly #words: ReadonlyMap<string, readonly string[]>

  constructor(parsed: ParsedWords, words: readonly { readonly name: string; readonly many?: boolean }[]) {
    this.#parsed = parsed
    this.#words = new Map(
      words.map(({ name, many }, at) => [name, parsed.words.slice(at, many ? undefined : at + 1)]),
    )
  }

  /** A word that must be there. */
  word(name: string): string {
    return this.wordIfAny(name) ?? ''
  }

  wordIfAny(name: string): string | undefined {
    return this.words(name)[0]
  }

  words(name: string): readonly string[] {
    return this.#words.get(name) ?? []
  }

  /** What follows `--`. */
  get rest(): readonly string[] {
    return this.#parsed.rest ?? []
  }

  flag(name: string): string | undefined {
    return this.all(name).at(-1)
  }

  /** The values of a flag that may be repeated. */
  all(name: string): readonly string[] {
    return this.#parsed.flags.get(name) ?? []
  }

  is(name: string): boolean {
    return this.flag(name) === 'true'
  }
}
