import { printableLine } from '../../../kernel/secrets/printable-line.ts'
import type { LastError } from '../../../kernel/server-state.ts'
import { NotMcpError } from '../../client/handshake.ts'
import { CallFailure } from '../../protocol/call.ts'

interface Start {
  /** The request that failed. */
  readonly step: 'initialize' | 'tools/list'
  readonly startMs: number
  /** The first text on stdout that is not a message. */
  readonly firstStrayLine: string | undefined
}

const MAX_QUOTE_CHARS = 300
const SLOW_HINT =
  'It may be waiting for input, a login or a download: check its log. Raise timeouts.start_s if it needs more time'
const STDOUT_HINT =
  'Check that the command starts an MCP server that uses the stdio transport. Logs belong on stderr, not on stdout'

/** Why a server did not become ready, and whether a retry may help. */
export function explainHandshakeFailure(error: unknown, start: Start): { error: LastError; retry: boolean } {
  if (error instanceof NotMcpError) {
    return { error: { code: 'not_mcp', message: error.message, hint: error.hint }, retry: false }
  }
  if (error instanceof CallFailure && error.reason === 'timeout') {
    return { error: timeoutError(start), retry: true }
  }
  const text = error instanceof Error ? error.message : String(error)
  const quote = printableLine(text, MAX_QUOTE_CHARS) ?? 'no reason given'
  const rejected = error instanceof CallFailure && error.reason === 'remote'
  const message = rejected ? `It rejected ${start.step}: ${quote}` : `The handshake failed: ${quote}`
  const hint = 'Check its arguments and environment variables; its log may have details'
  return { error: { code: 'handshake_failed', message, hint }, retry: true }
}

function timeoutError({ step, startMs, firstStrayLine }: Start): LastError {
  const code = 'start_timeout'
  const time = `${Number((startMs / 1000).toPrecision(3))} s`
  if (step === 'initialize' && firstStrayLine !== undefined) {
    const message = `It wrote text to stdout but no MCP message within ${time}. First line: "${firstStrayLine}"`
    return { code, message, hint: STDOUT_HINT }
  }
  return { code, message: `It did not answer ${step} within ${time}`, hint: SLOW_HINT }
}
