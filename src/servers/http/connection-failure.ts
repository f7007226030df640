import type { RepairAction } from '../../kernel/repair-action.ts'
import { CallFailure } from '../../mcp/protocol/call-failure.ts'

/** Why a server could not be reached. */
export interface ConnectionFailure {
  readonly code: string
  readonly message: string
  readonly hint: string | null
  readonly retryAfterS?: number | undefined
  readonly action?: RepairAction | undefined
}

export function failureOf(error: unknown): ConnectionFailure {
  if (!(error instanceof Error)) return { code: 'error', message: String(error), hint: null, action: CHECK }
  const { code, hint, retryAfterS, action } = error as Error & Partial<ConnectionFailure>
  const known = typeof code === 'string' ? code : error instanceof CallFailure ? error.reason : 'error'
  const { message } = error
  return { code: known, message, hint: hint ?? null, retryAfterS, action: action ?? repairOf(known) }
}

const CHECK: RepairAction = { kind: 'check' }

/** What a person can change. Everything else is at the server or in the network, and may be over now. */
const REPAIRS: Readonly<Record<string, RepairAction>> = {
  auth_required: { kind: 'login' },
  forbidden: { kind: 'edit_headers' },
  not_found: { kind: 'edit_url' },
  http_error: { kind: 'edit_url' },
  not_mcp: { kind: 'edit_url' },
  protocol_error: { kind: 'edit_url' },
  dns_failed: { kind: 'edit_url' },
  redirect_refused: { kind: 'edit_url' },
  too_many_redirects: { kind: 'edit_url' },
  blocked_address: { kind: 'edit_url' },
}

export const repairOf = (code: string): RepairAction => REPAIRS[code] ?? CHECK

/** A connection that fails until a user changes a setting. */
export class SettingFailure extends Error implements ConnectionFailure {
  override readonly name = 'SettingFailure'
  readonly code: string
  readonly hint: string | null
  readonly action: RepairAction | undefined

  constructor({ code, message, hint, action }: ConnectionFailure) {
    super(message)
    this.code = code
    this.hint = hint
    this.action = action
  }
}
