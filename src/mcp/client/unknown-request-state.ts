import { CallFailure, type Params } from '../../protocol/call.ts'
import { CODES } from '../../protocol/codes.ts'

/**
 * Rejects a `requestState` for a legacy server. Such a server never issued one, so the request continues a call that has
 * ended, and repeating that call could have its effects twice.
 */
export function refuseUnknownState(modernParams: Params): void {
  if (modernParams.requestState === undefined) return
  const message = 'This requestState is unknown or has expired. Send the call again without it'
  throw new CallFailure('remote', message, { code: CODES.params, message })
}
