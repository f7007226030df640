import type { LastError } from '../../kernel/server-state.ts'
import { CallFailure } from '../../protocol/call.ts'
import { quotable } from '../transports/stdio/stray-output.ts'
import { NotMcpError } from './greeting.ts'

interface Circumstances {
  /** What was asked last. */
  readonly step: 'initialize' | 'tools/list'
  readonly startMs: number
  /** The first text on stdout that was no message. */
  readonly firstNoise: string | undefined
}

const WORDS_MAX_CHARS = 300
const PATIENCE =
  'It may wait for input, a login or a download: its log has what it said; raise timeouts.start_s if it needs longer'
const STDOUT = 'Check that the command starts an MCP server that speaks over stdio; its log belongs on stderr'

/** Why a server did not become ready, for the person who must act, and whether another try may help. */
export function explainFailure(
  error: unknown,
  circumstances: Circumstances,
): { error: LastError; retry: boolean } {
  if (error instanceof NotMcpError) {
    return { error: { code: 'not_mcp', message: error.message, hint: error.hint }, retry: false }
  }
  if (error instanceof CallFailure && error.reason === 'timeout') {
    return { error: silence(circumstances), retry: true }
  }
  const words =
    quotable(error instanceof Error ? error.message : String(error), WORDS_MAX_CHARS) ?? 'no reason given'
  const refused = error instanceof CallFailure && error.reason === 'remote'
  const message = refused ? `It refused ${circumstances.step}: ${words}` : `The handshake failed: ${words}`
  const hint = 'Check its arguments and its environment; its log may say more'
  return { error: { code: 'handshake_failed', message, hint }, retry: true }
}

function silence({ step, startMs, firstNoise }: Circumstances): LastError {
  const code = 'start_timeout'
  const time = `${Number((startMs / 1000).toPrecision(3))} s`
  if (step === 'initialize' && firstNoise !== undefined) {
    const message = `It wrote text to stdout but no MCP message within ${time}, first: "${firstNoise}"`
    return { code, message, hint: STDOUT }
  }
  return { code, message: `It did not answer ${step} within ${time}`, hint: PATIENCE }
}
