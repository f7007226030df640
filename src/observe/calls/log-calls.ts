import type { FactBus } from '../../kernel/facts.ts'
import type { Log } from '../../kernel/log.ts'

/** Logs calls: failed ones as warnings, and those of agents at debug level when they succeed. */
export function logCalls(facts: FactBus, log: Log): void {
  const gatewayLog = log.child({ source: 'gateway' })
  facts.on('call_completed', (call) => {
    const { agent_type, server_id, tool, request_id, status, error_code } = call
    const isAgent = agent_type !== null
    if (status === 'ok' && !isAgent) return
    const fields = {
      agent_type: agent_type ?? undefined,
      server_id: server_id ?? undefined,
      tool,
      request_id,
      duration_ms: Math.round(call.duration_ms),
    }
    const callLog = isAgent ? gatewayLog : log
    if (status === 'ok') callLog.debug(fields, 'call answered')
    else if (status === 'cancelled')
      callLog.info(fields, `call cancelled by the ${isAgent ? 'agent' : 'client'}`)
    else callLog.warn({ ...fields, error_code }, `call failed: ${call.error_message ?? error_code}`)
  })
}
