import { CallFailure } from '../../protocol/call.ts'

/**
 * A server of the old days has never given a requestState. A request that brings one goes on with something that is over,
 * and to do it anew might do it twice.
 */
export function refuseState(modern: Readonly<Record<string, unknown>> | undefined): void {
  if (modern?.requestState === undefined) return
  const message = 'This requestState is not known, or its time is over: make the call again'
  throw new CallFailure('remote', message, { code: -32_602, message })
}
