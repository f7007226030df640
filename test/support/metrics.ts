import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Event, Recorder } from '../../src/observe/metrics/record/recorder.ts'
import { MetricsDatabase } from '../../src/store/metrics/metrics-database.ts'
import { ownFolder } from './folder.ts'

interface Options {
  readonly folder?: string
  readonly retentionDays?: number
  readonly now?: () => number
  /** A clock that never jumps; by default `now`, so that a test can let days pass. */
  readonly steady?: () => number
  readonly elapsed?: () => number
  readonly servers?: () => readonly { readonly server_id: string; readonly status: string }[]
}

/** A Sunday morning, in the middle of a minute and of an hour. */
export const NOON = Date.parse('2026-11-15T09:30:30.400Z')

/** A recorder with a real file, closed after the test. */
export function openRecorder({
  folder = ownFolder(),
  retentionDays = 30,
  now = () => NOON,
  steady = now,
  ...others
}: Options = {}) {
  const troubles: string[] = []
  const store = new MetricsDatabase({
    path: join(folder, 'metrics.db'),
    onTrouble: (message) => troubles.push(message),
  })
  onTestFinished(() => store.close())
  const onTrouble = (message: string, error: unknown) => troubles.push(`${message}: ${String(error)}`)
  const recorder = new Recorder({ store, retentionDays, now, steady, onTrouble, ...others })
  return { folder, store, recorder, troubles }
}

/** One tool call. */
export const event = (fields: Partial<Event> = {}): Event => ({
  ts: NOON,
  kind: 'tool_call',
  server_id: 'docs',
  tool: 'search',
  agent_type: null,
  name: null,
  labels: null,
  value: 10,
  status: 'ok',
  error_code: null,
  request_bytes: 0,
  response_bytes: 0,
  ...fields,
})

/** A clock that a test can move: time passes for both clocks, a jump moves only the one on the wall. */
export function ownClock(start = NOON) {
  let time = start
  let steady = 0
  return {
    now: () => time,
    steady: () => steady,
    pass: (ms: number) => {
      time += ms
      steady += ms
    },
    jump: (ms: number) => {
      time += ms
    },
  }
}
