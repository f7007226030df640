import type { FactBus } from '../kernel/facts.ts'
import type { Log } from '../kernel/log.ts'

/** Logs the calls of agents: failed calls as warnings, successful calls at debug level. */
export function logCalls(facts: FactBus, log: Log): void {
  const gatewayLog = log.child({ source: 'gateway' })
  facts.on('call_completed', (call) => {
    const { agent_type, server_id, tool, request_id, status } = call
    if (agent_type === null) return
    const fields = { agent_type, server_id, tool, request_id, duration_ms: Math.round(call.duration_ms) }
    if (status === 'ok') gatewayLog.debug(fields, 'call answered')
    else if (status === 'cancelled') gatewayLog.info(fields, 'call cancelled by the agent')
    else gatewayLog.warn({ ...fields, error_code: call.error_code }, `call failed: ${call.error_code}`)
  })
}
