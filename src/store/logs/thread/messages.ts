import { AppError, CATALOGUE, type ErrorCode } from '../../../kernel/errors.ts'
import type { Discarded } from '../../../logs/log-store.ts'
import type { LogOptions, SqliteLogStore } from '../sqlite-log-store.ts'

/** The calls between the main thread and the log thread. A `download` is a series of `chunk` calls. */
type Calls = Pick<
  SqliteLogStore,
  'append' | 'page' | 'histogram' | 'oldest' | 'chunk' | 'clear' | 'auditIds' | 'check' | 'close'
>
export type Operation = keyof Calls
export type Arguments<O extends Operation> = Parameters<Calls[O]>
export type Result<O extends Operation> = Awaited<ReturnType<Calls[O]>>

export type Setup = Pick<LogOptions, 'path' | 'maxBytes'>

export interface Request<O extends Operation = Operation> {
  readonly id: number
  readonly operation: O
  readonly args: Arguments<O>
}

export type Message =
  | { readonly kind: 'result'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly failure: Failure }
  | { readonly kind: 'damaged'; readonly message: string }
  | { readonly kind: 'discarded'; readonly lines: readonly Discarded[] }
  | { readonly kind: 'error'; readonly failure: Failure }

/** Preserves what an error would lose in a message between threads: its class and its code. */
interface Failure {
  readonly code: string | null
  readonly message: string
  readonly stack: string | undefined
  readonly hint: string | undefined
  readonly retryAfterS: number | undefined
}

export function failureOf(error: unknown): Failure {
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  const app = error instanceof AppError ? error : undefined
  return { code: app?.code ?? null, message, stack, hint: app?.hint, retryAfterS: app?.retryAfterS }
}

export function errorOf({ code, message, stack, hint, retryAfterS }: Failure): Error {
  if (code === null || !(code in CATALOGUE)) return Object.assign(new Error(message), { stack })
  return new AppError(code as ErrorCode, message, {
    ...(hint !== undefined && { hint }),
    ...(retryAfterS !== undefined && { retryAfterS }),
  })
}
