import type { FactBus } from '../kernel/facts.ts'
import type { Log } from '../kernel/log.ts'

/** What agents called, for who asks later what went wrong: failures always, the rest where details are wanted. */
export function logCalls(facts: FactBus, log: Log): () => void {
  const lines = log.child({ source: 'gateway' })
  return facts.on('call_completed', (call) => {
    const { agent_type, server_id, tool, request_id, status } = call
    if (agent_type === null) return
    const about = { agent_type, server_id, tool, request_id, duration_ms: Math.round(call.duration_ms) }
    if (status === 'ok') lines.debug(about, 'call answered')
    else if (status === 'cancelled') lines.info(about, 'call cancelled by the agent')
    else lines.warn({ ...about, error_code: call.error_code }, `call failed: ${call.error_code}`)
  })
}
