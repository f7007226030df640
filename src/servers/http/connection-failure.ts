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

/** `redact` masks secrets: the host of a URL may contain one. */
export function failureOf(error: unknown, redact: (text: string) => string): ConnectionFailure {
  const code = codeOf(error)
  if (!(error instanceof Error)) return { code, message: redact(String(error)), hint: null, action: CHECK }
  const { hint = null, retryAfterS, action } = error as Error & Partial<ConnectionFailure>
  const said = { message: redact(error.message), hint: hint && redact(hint) }
  return { code, ...said, retryAfterS, action: action ?? repairOf(code) }
}

export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'error'
  const { code } = error as Error & Partial<ConnectionFailure>
  return typeof code === 'string' ? code : error instanceof CallFailure ? error.reason : 'error'
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
