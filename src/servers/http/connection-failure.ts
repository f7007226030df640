import { CallFailure } from '../../mcp/protocol/call-failure.ts'

/** Why a server could not be reached. */
export interface ConnectionFailure {
  readonly code: string
  readonly message: string
  readonly hint: string | null
  readonly retryAfterS?: number | undefined
}

export function failureOf(error: unknown): ConnectionFailure {
  if (!(error instanceof Error)) return { code: 'error', message: String(error), hint: null }
  const { code, hint, retryAfterS } = error as Error & Partial<ConnectionFailure>
  const known = typeof code === 'string' ? code : error instanceof CallFailure ? error.reason : 'error'
  return { code: known, message: error.message, hint: hint ?? null, retryAfterS }
}

/** A connection that fails until a user changes a setting. */
export class SettingFailure extends Error implements ConnectionFailure {
  override readonly name = 'SettingFailure'
  readonly code: string
  readonly hint: string | null

  constructor({ code, message, hint }: ConnectionFailure) {
    super(message)
    this.code = code
    this.hint = hint
  }
}
