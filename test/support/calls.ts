import type { CallRecord, CallStore } from '../../src/observe/calls/call-store.ts'
import { randomFrom } from './random.ts'

export const CALLS_FROM = Date.UTC(2026, 10, 1)
/** One call every 2 s. */
export const EVERY_MS = 2000

/** A call with these fields. */
export const callOf = (fields: Partial<CallRecord>): CallRecord => ({
  call_id: 1,
  started_at: CALLS_FROM,
  duration_ms: 12,
  queue_ms: 1,
  start_ms: 0,
  server_ms: 11,
  server_id: 'echo',
  tool: 'echo',
  agent_type: null,
  session_id: null,
  request_id: 'req_1',
  status: 'ok',
  error_code: null,
  error_message: null,
  request_bytes: 20,
  response_bytes: 300,
  ...fields,
})

/** Makes calls of 20 servers, 100 tools, 5 agents and many sessions, one after another. One of ten fails. */
export function callMaker(failing = 0.1): () => CallRecord {
  const random = randomFrom(8665)
  const pick = (count: number) => Math.floor(random() * count)
  let count = 0
  return () => {
    count += 1
    const failed = random() < failing
    const server = pick(20)
    const duration_ms = random() * (random() < 0.01 ? 1000 : 100)
    const code = random() < 0.001 ? 'timeout' : 'tool_error'
    return callOf({
      call_id: CALLS_FROM + count,
      started_at: CALLS_FROM + count * EVERY_MS,
      duration_ms,
      server_ms: duration_ms,
      server_id: `server-${server}`,
      tool: random() < 0.001 ? 'rare' : `tool-${server * 5 + pick(5)}`,
      agent_type: ['cursor', 'claude-code', 'codex', 'zed', null][pick(5)] ?? null,
      session_id: `session-${Math.floor(count / 300)}`,
      request_id: `req_8fjA0kQ2${count.toString(36)}`,
      ...(failed && {
        status: code === 'timeout' ? ('timeout' as const) : ('error' as const),
        error_code: code,
        error_message: `GET https://api.example.com/repos/acme/website/issues/${count}: issue ${count} was not found`,
      }),
    })
  }
}

/** Stores calls at once. */
export async function append(store: CallStore, calls: readonly CallRecord[]): Promise<void> {
  for (const call of calls) if (!store.add(call)) await store.flush()
  await store.flush()
}
