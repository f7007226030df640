import type { Config } from '../../kernel/config/config.ts'
import type { ParsedWords } from '../../kernel/config/parse-flags.ts'
import type { EXIT } from '../../kernel/exit-codes.ts'
import { usage } from './failure.ts'
import type { Line, Span } from './printed-line.ts'
import type { Api, ServiceClient } from './service-client.ts'

export interface Terminal {
  /** Whether stdout is a terminal. */
  readonly isTty: boolean
  /** How wide it is. */
  readonly width: number | undefined
  /** A text with commands as they are typed on this computer. For what is laid out by its width before it is printed. */
  readonly typed: (text: string) => string
}

/** What a command gets. */
export interface Context {
  readonly given: Given
  readonly config: Config
  /** The file of this program. */
  readonly mainFile: string
  /** The typed REST API of the running service. Reading it fails with exit code 3 if none is running. */
  readonly api: Api
  /** The connection below `api`, for its address and for unusual requests. */
  readonly service: ServiceClient
  readonly terminal: Terminal
  /** Prints a line on stderr: progress, warnings. */
  readonly note: (line: Line) => void
  /** Prints one item of a stream: a line, with `--json` its JSON, with `--plain` the row. */
  readonly emit: (json: object, line: Line, row?: readonly Value[]) => void
  /** Waits, and shows the phase on stderr if it takes more than a second. */
  readonly during: <T>(phase: string, work: Promise<T>) => Promise<T>
  /** Asks a question. Without a terminal, fails with exit code 2 and names `--yes`. A no fails, too. */
  readonly confirm: (question: string) => Promise<void>
}

/** What a command prints in the end. */
export interface Answer {
  readonly json: unknown
  /** Before the table. */
  readonly title?: readonly Line[]
  readonly lines?: readonly Line[]
  /** The lines are not ours, such as those of a tool's result. */
  readonly isVerbatim?: boolean
  readonly table?: Table
  /** What `--plain` prints. Default: the rows of the table, else the lines. */
  readonly plain?: readonly (readonly Value[])[]
  /** The next useful command, or a sentence with it. Shown on a terminal only. */
  readonly next?: string | undefined
  /** Default: success. */
  readonly exit?: keyof typeof EXIT | undefined
}

/** The answer of `--dry-run`: what would happen. */
export const dryRun = (json: object, lines: readonly Line[]): Answer => ({
  json: { dry_run: true, ...json },
  lines: [...lines, 'Nothing was changed (--dry-run).'],
})

/** The answer of a list without items. */
export const emptyList = (json: object, line: string, next?: string): Answer => ({
  json,
  plain: [],
  lines: [line],
  next,
})

/** Some fields of an item, as a row of `--plain`. */
export const rowWith = <T, F extends keyof T>(item: T, ...fields: readonly F[]): T[F][] =>
  fields.map((field) => item[field])

/** The exit of a command that did the same with several items. */
export const exitOf = (failed: number, total: number): Answer['exit'] =>
  failed === 0 ? undefined : failed === total ? 'failed' : 'partly_done'

export type Value = string | number | boolean | null | undefined

export interface Table {
  readonly head?: readonly string[]
  readonly rows: readonly (readonly Span[])[]
}

/** A command that prints a stream itself returns nothing. */
export type Run = (context: Context) => Promise<Answer | undefined>

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

  /** The values of these flags, by name, without those that were not given. */
  flags<F extends string>(...names: readonly F[]): { readonly [N in F]?: string } {
    const values = names.flatMap((name) => {
      const value = this.flag(name)
      return value === undefined ? [] : [[name, value] as const]
    })
    return Object.fromEntries(values) as { [N in F]?: string }
  }

  /** The values of a flag that may be repeated. */
  all(name: string): readonly string[] {
    return this.#parsed.flags.get(name) ?? []
  }

  /** `NAME=VALUE` of a flag that may be repeated. The value may be empty. */
  pairs(name: string): Record<string, string> {
    return Object.fromEntries(
      this.all(name).map((text) => {
        const at = text.indexOf('=')
        // The text may be a secret, so the message does not repeat it.
        if (at < 1) throw usage(`--${name} must be NAME=VALUE`, null)
        return [text.slice(0, at), text.slice(at + 1)]
      }),
    )
  }

  is(name: string): boolean {
    return this.flag(name) === 'true'
  }
}
