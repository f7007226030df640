import type { KnownSecrets } from '../../../kernel/secrets/known-secrets.ts'
import { maskText } from '../../../kernel/secrets/secrets.ts'
import { RemoteFailure, timeoutFailure, tooLarge } from '../../../net/http-failure.ts'
import { CallFailure } from '../../../protocol/call.ts'
import { MESSAGE_MAX_BYTES } from '../../../protocol/frames.ts'
import { NotMcpError } from '../../client/greeting.ts'
import { quotable } from '../stdio/stray-output.ts'

interface Circumstances {
  readonly host: string
  readonly step: 'initialize' | 'tools/list'
  readonly timeoutMs: number
  readonly secrets: KnownSecrets
}

const WORDS_MAX_CHARS = 300

/** Why there is no connection, for the person who must act. What the server said itself is quoted without secrets. */
export function explainRemote(
  error: unknown,
  { host, step, timeoutMs, secrets }: Circumstances,
): RemoteFailure {
  if (error instanceof RemoteFailure) return error
  const said = error instanceof Error ? error.message : String(error)
  const words = quotable(maskText(secrets.redact(said)), WORDS_MAX_CHARS) ?? 'no reason given'
  if (error instanceof NotMcpError) {
    const hint = 'Check that the URL is the endpoint of an MCP server, in a version that Toolroom knows'
    return new RemoteFailure('not_mcp', `${host} is not understood: ${words}`, hint)
  }
  if (!(error instanceof CallFailure)) {
    const hint = 'Check that the URL is the endpoint of an MCP server'
    return new RemoteFailure('protocol_error', `The handshake with ${host} failed: ${words}`, hint)
  }
  switch (error.reason) {
    case 'timeout':
      return timeoutFailure(host, `answer ${step}`, timeoutMs)
    case 'too_large':
      return tooLarge(host, `The answer to ${step}`, MESSAGE_MAX_BYTES)
    case 'closed':
    case 'cancelled':
    case 'busy': {
      const hint = 'Try again; if it happens again, look into the log of the server'
      return new RemoteFailure('connection_reset', `The connection to ${host} ended during ${step}`, hint)
    }
    case 'remote': {
      const hint = 'Check the headers of this server and what it needs; its log may say more'
      return new RemoteFailure('protocol_error', `${host} refused ${step}: ${words}`, hint)
    }
  }
}
