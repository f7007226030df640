import { AppError } from '../../kernel/errors.ts'
import type { FactBus } from '../../kernel/fact-bus.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import { isoTime } from '../../kernel/time.ts'
import type { CallOptions, CallResult } from '../../mcp/protocol/call-options.ts'
import { RawJson } from '../../mcp/protocol/raw-json.ts'
import type { ToolCall } from '../../servers/shared/upstream.ts'
import { timeRange } from '../time-range.ts'
import type { CallHistory } from './call-history.ts'
import type { CallPayloads, KeptJson, KeptPayload } from './call-payloads.ts'
import type { CallRecord, CallStore } from './call-store.ts'
import type { Call, CallQuery } from './calls.schema.ts'

/** Provided by `compose/observe.ts`. */
interface Deps {
  readonly store: CallStore
  readonly history: CallHistory
  /** Undefined when none are kept. */
  readonly payloads: CallPayloads | undefined
  readonly facts: FactBus
  /** Calls a tool. Rejects when there is no such server. */
  readonly call: (server_id: string, call: ToolCall) => Promise<CallResult>
  readonly now: () => number
}

/** A replay: its result, and the call that it was recorded as. */
export interface Replayed {
  readonly result: CallResult
  readonly call_id: number | undefined
}

export function createCalls({ store, history, payloads, facts, call, now }: Deps) {
  async function find(id: string): Promise<CallRecord> {
    void history.flush() // the next request of the store includes them
    const record = /^[1-9]\d{0,14}$/.test(id) ? await store.find(Number(id)) : undefined
    if (!record)
      throw new AppError('not_found', `No call has the id '${id.slice(0, 100)}'`, {
        hint: 'Calls are kept for 30 days, and at most 1 million of them',
      })
    return record
  }

  async function argumentsOf({ call_id }: CallRecord): Promise<unknown> {
    const payload = await payloads?.find(call_id)
    const kept = payload?.arguments
    if (kept === null) return undefined // the call had none
    if (kept && !kept.cut && !kept.redacted) return new RawJson(kept.text, JSON.parse(kept.text))
    const why = kept ? incomplete(kept) : 'are not kept'
    throw new AppError('payload_incomplete', `The arguments of the call ${call_id} ${why}`, {
      hint: 'Send the arguments in the body',
    })
  }

  return {
    /** `isOwner`: the caller has the token, and sees the error messages. */
    async page(query: CallQuery, isOwner: boolean) {
      const { limit = 100, cursor, since, until, ...rest } = query
      const filter = { ...rest, ...timeRange({ since, until }, now()) }
      void history.flush()
      const before = cursor === undefined ? null : Number(cursor)
      const { items, total, next } = await store.page({ filter, limit, before })
      return {
        items: items.map((record) => viewOf(record, isOwner)),
        total,
        next_cursor: next === null ? null : String(next),
      }
    },

    /** As JSON, because the numbers in arguments and results may have more digits than JavaScript. */
    async detail(id: string): Promise<string> {
      const record = await find(id)
      const kept = await payloads?.find(record.call_id)
      const view = JSON.stringify({ ...viewOf(record, true), payload_state: stateOf(kept) })
      const parts = `"arguments":${jsonOf(kept?.arguments)},"result":${jsonOf(kept?.result)}`
      return `${view.slice(0, -1)},${parts}}`
    },

    /** Calls the same tool again, with the same arguments or with the given ones. */
    async replay(id: string, given: unknown, by: Caller, signal: CallOptions['signal']): Promise<Replayed> {
      const record = await find(id)
      const { server_id, tool } = record
      if (server_id === null)
        throw new AppError('not_found', `The call ${id} reached no server, so it cannot be repeated`)
      const args = given ?? (await argumentsOf(record))
      let call_id: number | undefined
      const stop = facts.on('call_started', (started) => {
        if (started.request_id === by.request_id) call_id = started.call_id
      })
      try {
        return { result: await call(server_id, { tool, args, by, options: { signal } }), call_id }
      } finally {
        stop()
      }
    },
  }
}
export type Calls = ReturnType<typeof createCalls>

function viewOf(record: CallRecord, isOwner: boolean): Call {
  const { call_id, started_at, duration_ms, queue_ms, start_ms, server_ms, error_message, ...rest } = record
  return {
    id: call_id,
    started_at: isoTime(started_at),
    duration_ms: duration_ms === null ? null : round(duration_ms),
    queue_ms: round(queue_ms),
    start_ms: round(start_ms),
    server_ms: round(server_ms),
    ...rest,
    ...(isOwner && { error_message }),
  }
}

/** Three decimals: microseconds. */
const round = (ms: number): number => Math.round(ms * 1000) / 1000

function stateOf(kept: KeptPayload | undefined): 'kept' | 'cut' | 'not_kept' {
  if (!kept) return 'not_kept'
  return kept.arguments?.cut || kept.result?.cut ? 'cut' : 'kept'
}

const jsonOf = (kept: KeptJson | null | undefined): string =>
  kept ? (kept.cut ? JSON.stringify(kept.text) : kept.text) : 'null'

const incomplete = ({ cut }: KeptJson): string =>
  cut ? 'are kept only in part' : 'are kept without the secrets in them'
