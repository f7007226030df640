import { CATALOGUE, type ErrorCode } from '../../kernel/error-catalogue.ts'
import { AppError } from '../../kernel/errors.ts'
import type { Discarded } from '../../observe/logs/log-store.ts'
import type { CallStoreOptions, SqliteCallStore } from '../calls/sqlite-call-store.ts'
import type { LogOptions, SqliteLogStore } from '../logs/sqlite-log-store.ts'

/** The calls between the main thread and the store thread. A download of logs is a series of `chunk` calls. */
interface Stores {
  readonly logs: Pick<
    SqliteLogStore,
    'append' | 'page' | 'histogram' | 'oldest' | 'chunk' | 'clear' | 'auditIds' | 'check' | 'close'
  >
  readonly calls: Pick<
    SqliteCallStore,
    'highestId' | 'appendBlocks' | 'page' | 'find' | 'savePayloads' | 'payload' | 'close'
  >
}
export type StoreName = keyof Stores
export type Operation<S extends StoreName> = keyof Stores[S] & string
type Method<S extends StoreName, O extends Operation<S>> = Stores[S][O] extends (
  ...args: infer A
) => Promise<infer R>
  ? { readonly args: A; readonly result: R }
  : never
export type Arguments<S extends StoreName, O extends Operation<S>> = Method<S, O>['args']
export type Result<S extends StoreName, O extends Operation<S>> = Method<S, O>['result']

export interface Setup {
  readonly logs: Pick<LogOptions, 'path' | 'maxBytes'>
  readonly calls: Pick<CallStoreOptions, 'path' | 'keepsPayloads'>
}

export interface Request {
  readonly id: number
  readonly store: StoreName
  readonly operation: string
  readonly args: readonly unknown[]
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
