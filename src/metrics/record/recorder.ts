import { AppError } from '../../kernel/errors.ts'
import type { FactBus, Facts } from '../../kernel/facts.ts'
import type { Level, MetricsStore } from '../metrics-store.ts'
import type { Happening } from '../sketch/cell.ts'
import { Tally } from '../sketch/tally.ts'
import { History, type Visit } from '../windows/history.ts'
import { DAY_MS, floorTo, WINDOWS, type WindowName } from '../windows/levels.ts'
import { RollingWindow } from '../windows/rolling-window.ts'
import { RecentChecks } from './recent-checks.ts'
import { Retention } from './retention.ts'
import { MAX_SERIES, type Series, type SeriesKey, SeriesTable } from './series.ts'

interface RecorderDeps {
  readonly store: MetricsStore
  readonly retentionDays: number
  readonly now: () => number
  /** The store cannot be written; told once, until it can. */
  readonly onTrouble: (message: string, error: unknown) => void
}

export interface Event extends SeriesKey, Happening {}

const FLUSH_EVERY_MS = 10_000
const LONGEST_NAME = 256

/** Counts what happens. Events of the running second wait in one tally; from there they reach every window at once. */
export class Recorder {
  readonly #deps: RecorderDeps
  readonly #history: History
  readonly #windows: ReadonlyMap<WindowName, RollingWindow>
  readonly #retention: Retention
  readonly series: SeriesTable
  readonly checks: RecentChecks
  /** Everything since the start of the service, for counters that only grow. */
  readonly #total = new Tally()
  #second = 0
  #current = new Tally()
  #timer: NodeJS.Timeout | undefined
  #troubled = false

  constructor(deps: RecorderDeps) {
    this.#deps = deps
    const { series, next_id, checks } = deps.store.load()
    this.series = new SeriesTable(series, next_id)
    this.checks = new RecentChecks(checks)
    this.#history = new History(deps.store)
    this.#retention = new Retention(deps.store, this.series, deps.retentionDays)
    const kept = deps.retentionDays * DAY_MS
    this.#windows = new Map(WINDOWS.map((name) => [name, new RollingWindow(this.#history, name, kept)]))
  }

  /** From here on what happens in the house is counted, and written down every ten seconds. */
  listen(facts: FactBus): () => void {
    this.#timer ??= setInterval(() => this.flush(), FLUSH_EVERY_MS).unref()
    const ends = [
      facts.on('call_completed', (call) => this.#called(call)),
      facts.on('http_server_check', (check) => this.#checked(check)),
      facts.on('server_removed', ({ server_id }) => this.checks.forget(server_id, this.#deps.store)),
    ]
    return () => {
      for (const end of ends) end()
    }
  }

  /** All or nothing. Whoever calls has checked each field, and that `ts` is neither too old nor in the future. */
  record(events: readonly Event[]): void {
    const series = this.series.takeAll(events)
    if (!series) throw tooManySeries()
    for (const [index, event] of events.entries()) {
      this.#count(series[index] as Series, event)
      if (event.kind === 'check' && event.server_id !== null) this.checks.add(checkOf(event, event.server_id))
    }
  }

  /** The sum of a window, and where it begins. */
  window(name: WindowName): { readonly from: number; readonly tally: Tally } {
    const now = this.#deps.now()
    this.#fold()
    this.#second = floorTo(now, 1000) // also when the clock was put back
    return (this.#windows.get(name) as RollingWindow).at(now)
  }

  /** Everything since the start of the service. */
  total(): Tally {
    this.#fold()
    return this.#total
  }

  visit(level: Level, from: number, to: number, visit: Visit, wanted: (series: number) => boolean): void {
    this.#fold()
    this.#history.visit(level, from, to, visit, wanted)
  }

  /** What came since the last time is written down. If that fails it waits for the next time. */
  flush(): void {
    try {
      this.#fold()
      if (this.#save() === 'recreated') {
        for (const each of this.series.all()) each.savedAt = undefined
        this.#save()
      }
      for (const gone of this.#retention.run(this.#deps.now())) this.#total.cells.delete(gone)
      this.#troubled = false
    } catch (error) {
      this.#history.compact()
      if (!this.#troubled) this.#deps.onTrouble('metrics could not be stored', error)
      this.#troubled = true
    }
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.flush()
  }

  #called(call: Facts['call_completed']): void {
    const { server_id, tool, agent_type, status, error_code, duration_ms, response_bytes } = call
    const key = {
      kind: 'tool_call',
      server_id,
      tool: plain(tool),
      agent_type,
      name: null,
      labels: null,
    } as const
    this.#observe(key, status, error_code, duration_ms, response_bytes)
  }

  #checked({ server_id, ok, duration_ms, error_code }: Facts['http_server_check']): void {
    const key = { kind: 'check', server_id, tool: null, agent_type: null, name: null, labels: null } as const
    this.#observe(key, ok ? 'ok' : 'error', error_code, duration_ms, 0)
    this.checks.add({ server_id, ts: this.#deps.now(), ok, duration_ms, error_code })
  }

  #observe(
    key: SeriesKey,
    status: Happening['status'],
    error_code: string | null,
    duration_ms: number,
    response_bytes: number,
  ): void {
    const value = duration_ms >= 0 ? duration_ms : 0
    const ts = this.#deps.now()
    const happening = { ts, value, status, error_code, request_bytes: 0, response_bytes }
    this.#count(this.series.takeOrOther(key), happening)
  }

  #count(series: Series, happening: Happening): void {
    const second = floorTo(happening.ts, 1000)
    if (happening.ts > series.lastAt) series.lastAt = happening.ts
    if (series.of) series.of.version += 1
    if (second > this.#second) {
      this.#fold()
      this.#second = second
    }
    if (second === this.#second) this.#current.record(series.id, happening)
    else this.#countLate(series.id, happening)
  }

  #countLate(series: number, happening: Happening): void {
    this.#history.add(series, happening, this.#deps.now())
    this.#total.record(series, happening)
    for (const window of this.#windows.values()) window.holding(happening.ts)?.record(series, happening)
  }

  /** The running second becomes history. It may go on: what comes later is added. */
  #fold(): void {
    if (this.#current.cells.size === 0) return
    this.#total.merge(this.#current)
    for (const window of this.#windows.values()) window.holding(this.#second)?.merge(this.#current)
    this.#history.addSecond(this.#second, this.#current)
    this.#current = new Tally()
  }

  #save(): 'saved' | 'recreated' {
    const blocks = this.#history.blocks()
    const series = this.#retention.unsaved()
    const { unsaved: checks } = this.checks
    if (blocks.length + series.length + checks.length === 0) return 'saved'
    const rows = series.map(({ of, lastAt, savedAt, ...key }) => ({ ...key, last_at: lastAt }))
    const outcome = this.#deps.store.save({ blocks, series: rows, checks })
    if (outcome === 'recreated') return outcome
    this.#history.flushed()
    this.checks.saved()
    for (const each of series) each.savedAt = each.lastAt
    return outcome
  }
}

/** As a name of a series: no control characters, and not longer than a person reads. */
const plain = (name: string): string =>
  PLAIN.test(name) ? name : name.slice(0, LONGEST_NAME).replace(/\p{Cc}/gu, '\u{fffd}')
const PLAIN = /^[\w.-]{1,64}$/

function checkOf({ ts, status, value, error_code }: Event, server_id: string) {
  return { server_id, ts, ok: status === 'ok', duration_ms: value, error_code }
}

function tooManySeries(): AppError {
  return new AppError('cardinality_limit', `There are ${MAX_SERIES} different sets of labels already`, {
    hint: 'Leave out labels whose values never come again, such as ids and times',
  })
}
