import type { KnownSecrets } from '../../../kernel/secrets/known-secrets.ts'
import { maskText } from '../../../kernel/secrets/mask-secrets.ts'
import { printableLine } from '../../../kernel/secrets/strip-terminal-codes.ts'
import { RemoteFailure, timeoutFailure, tooLarge } from '../../../net/http-failure.ts'
import { NotMcpError } from '../../client/handshake.ts'
import { CallFailure } from '../../protocol/call-failure.ts'
import { MESSAGE_MAX_BYTES } from '../../protocol/line-splitter.ts'

interface Attempt {
  readonly host: string
  /** The request that failed. */
  readonly step: 'initialize' | 'tools/list'
  readonly timeoutMs: number
  readonly secrets: KnownSecrets
}

const MAX_QUOTE_CHARS = 300

/** Why there is no connection. Text of the server is quoted with secrets masked. */
export function explainHandshakeFailure(
  error: unknown,
  { host, step, timeoutMs, secrets }: Attempt,
): RemoteFailure {
  if (error instanceof RemoteFailure) return error
  const text = error instanceof Error ? error.message : String(error)
  const quote = printableLine(maskText(secrets.redact(text)), MAX_QUOTE_CHARS) ?? 'no reason given'
  if (error instanceof NotMcpError) {
    const hint = 'Check that the URL is the endpoint of an MCP server, in a version that Toolroom supports'
    return new RemoteFailure('not_mcp', `${host} cannot be used: ${quote}`, hint)
  }
  if (!(error instanceof CallFailure)) {
    const hint = 'Check that the URL is the endpoint of an MCP server'
    return new RemoteFailure('protocol_error', `The handshake with ${host} failed: ${quote}`, hint)
  }
  switch (error.reason) {
    case 'timeout':
      return timeoutFailure(host, `answer ${step}`, timeoutMs)
    case 'too_large':
      return tooLarge(host, `The response to ${step}`, MESSAGE_MAX_BYTES)
    case 'closed':
    case 'cancelled':
    case 'busy': {
      const hint = "Try again. If it happens repeatedly, check the server's log"
      return new RemoteFailure('connection_reset', `The connection to ${host} ended during ${step}`, hint)
    }
    case 'remote': {
      const hint = 'Check the headers and settings that this server requires; its log may have details'
      return new RemoteFailure('protocol_error', `${host} rejected ${step}: ${quote}`, hint)
    }
  }
}
