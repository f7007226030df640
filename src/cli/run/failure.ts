import type { EXIT } from '../../kernel/exit-codes.ts'
import type { RemoteFailure } from '../../net/http-failure.ts'

/** Why a command failed: one line for the terminal, or with `--json` one document. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly code: string
  readonly hint: string | null
  readonly exit: keyof typeof EXIT

  constructor(exit: keyof typeof EXIT, message: string, hint: string | null, code: string = exit) {
    super(message)
    this.exit = exit
    this.code = code
    this.hint = hint
  }
}

/** The command line is wrong. */
export const usage = (sentence: string, hint: string | null): Failure => new Failure('usage', sentence, hint)

export const notRunning = (sentence: string): Failure =>
  new Failure('not_running', sentence, 'start it with `toolroom up`')

export const notToolroom = (address: string): Failure =>
  notRunning(`The program at ${address} is not Toolroom`)

export function unreachable(address: string, { code, message, hint }: RemoteFailure): Failure {
  if (code === 'connection_refused') return notRunning(`Toolroom does not respond at ${address}`)
  // Reset: it was ended during the request.
  if (code === 'connection_reset') return notRunning(`Toolroom does not respond at ${address} any more`)
  return new Failure('not_running', `Toolroom cannot be reached at ${address}: ${message}`, hint)
}

export function tokenRefused(address: string): Failure {
  const sentence = `The Toolroom at ${address} requires its token, and refused this one`
  return new Failure('token_refused', sentence, 'set AUTH_TOKEN, or set TOOLROOM_HOME to its data folder')
}
