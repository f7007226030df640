import type { Config } from '../../kernel/config/config.ts'
import type { EXIT } from '../../kernel/exit.ts'
import type { Line, Span } from '../output/line.ts'
import type { Given } from './given.ts'
import type { ServiceClient } from './service-client.ts'
import type { Api } from './typed-api.ts'

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
  /** Whether stdout is a terminal, and how wide it is. */
  readonly terminal: { readonly isTty: boolean; readonly width: number | undefined }
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
  readonly table?: Table
  /** What `--plain` prints. Default: the rows of the table, else the lines. */
  readonly plain?: readonly (readonly Value[])[]
  /** The next useful command, or a sentence with it. Shown on a terminal only. */
  readonly next?: string | undefined
  /** Default: success. */
  readonly exit?: keyof typeof EXIT | undefined
}

export type Value = string | number | boolean | null | undefined

export interface Table {
  readonly head?: readonly string[]
  readonly rows: readonly (readonly Span[])[]
}

/** A command that prints a stream itself returns nothing. */
export type Run = (context: Context) => Promise<Answer | undefined>
