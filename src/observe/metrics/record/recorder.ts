import { AppError } from '../../../kernel/errors.ts'
import type { FactBus, Facts } from '../../../kernel/fact-bus.ts'
import { ClockTrust, sinceBoot } from '../../../kernel/time.ts'
import { DAY_MS, History, RollingWindow, type Visit, WINDOWS, type WindowName } from '../metric-history.ts'
import type { Check, Level, MetricsStore } from '../metrics-store.ts'
import { atEveryLevel, ServerAvailability } from '../server-availability.ts'
import { type Sample, Tally } from '../sketch/metric-cells.ts'
import { Retention } from './retention.ts'
import { MAX_SERIES, type Series, type SeriesKey, SeriesTable } from './series-table.ts'

interface RecorderDeps {
  readonly store: MetricsStore
  readonly retentionDays: number
  readonly now: () => number
  /** Milliseconds of a clock that never jumps and also counts while the computer sleeps. */
  readonly steady?: () => number
  /** The same of a clock that stands still while the computer sleeps. */
  readonly elapsed?: () => number
  /** All servers with their status. Called every ten seconds. */
  readonly servers?: () => readonly { readonly server_id: string; readonly status: string }[]
  /** Called once when the store fails, and again only after it has recovered. */
  readonly onTrouble: (message: string, error: unknown) => void
}

export interface Event extends SeriesKey, Sample {}

const FLUSH_EVERY_MS = 10_000
const MAX_NAME_LENGTH = 256

/** Counts events. Events of the current second are collected in one tally, then added to the history and all windows. */
export class Recorder {
  readonly #deps: RecorderDeps
  readonly #history: History
  readonly #windows: ReadonlyMap<WindowName, RollingWindow>
  readonly #retention: Retention
  readonly series: SeriesTable
  readonly checks: RecentChecks
  readonly availability: ServerAvailability
  readonly #total = new Tally()
  #second = 0
  #current = new Tally()
  #timer: NodeJS.Timeout | undefined
  #failing = false

  constructor(deps: RecorderDeps) {
    this.#deps = deps
    const { series, next_id, checks, newest } = deps.store.load()
    this.series = new SeriesTable(series, next_id)
    this.checks = new RecentChecks(checks)
    this.#history = new History(deps.store)
    const { store, now, elapsed = () => performance.now() } = deps
    this.availability = new ServerAvailability({ store, now, elapsed })
    const clock = new ClockTrust(deps.now(), deps.steady ?? sinceBoot, newest)
    this.#retention = new Retention(deps.store, this.series, deps.retentionDays, clock)
    const kept = deps.retentionDays * DAY_MS
    this.#windows = new Map(WINDOWS.map((name) => [name, new RollingWindow(this.#history, name, kept)]))
  }

  /** Counts published facts from now on and saves every ten seconds. Returns a function that stops counting. */
  listen(facts: FactBus): () => void {
    this.#timer ??= setInterval(() => {
      this.observeServers()
      this.flush()
    }, FLUSH_EVERY_MS).unref()
    const unsubscribes = [
      ...this.availability.listen(facts),
      facts.on('call_completed', (call) => this.#countCall(call)),
      facts.on('http_server_check', (check) => this.#countCheck(check)),
      facts.on('server_removed', ({ server_id }) => this.checks.forget(server_id, this.#deps.store)),
    ]
    return () => {
      for (const unsubscribe of unsubscribes) unsubscribe()
    }
  }

  /** Records all events or none. The caller has validated each field, and that `ts` is neither too old nor in the future. */
  record(events: readonly Event[]): void {
    const series = this.series.getAll(events)
    if (!series) throw tooManySeries()
    for (const [index, event] of events.entries()) {
      this.#count(series[index] as Series, event)
      if (event.kind === 'check' && event.server_id !== null) this.checks.add(checkOf(event, event.server_id))
    }
  }

  /** The sum of a window, and its start. */
  window(name: WindowName): { readonly from: number; readonly tally: Tally } {
    const now = this.#deps.now()
    this.#fold()
    this.#second = secondOf(now) // also when the clock has moved back
    return (this.#windows.get(name) as RollingWindow).at(now)
  }

  /** All events since the start of the service, for counters that only grow. */
  total(): Tally {
    this.#fold()
    return this.#total
  }

  visit(level: Level, from: number, to: number, visit: Visit, isSelected: (series: number) => boolean): void {
    this.#fold()
    this.#history.visit(level, from, to, visit, isSelected)
  }

  /** Counts the time since the last call for the status that each server had. */
  observeServers(): void {
    for (const { server_id, status } of this.#deps.servers?.() ?? [])
      this.availability.setStatus(server_id, status)
  }

  /** Saves new events. On failure they stay pending for the next flush. */
  flush(isLast = false): void {
    try {
      this.#fold()
      if (this.#save(isLast) === 'recreated') {
        for (const each of this.series.all()) each.savedAt = undefined
        this.#save(isLast)
      }
      for (const deleted of this.#retention.run(this.#deps.now())) this.#total.cells.delete(deleted)
      this.#failing = false
    } catch (error) {
      this.#history.compact()
      this.availability.dropOldest()
      if (!this.#failing) this.#deps.onTrouble('metrics could not be stored', error)
      this.#failing = true
    }
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.observeServers()
    this.flush(true)
  }

  #countCall(call: Facts['call_completed']): void {
    const { tool, agent_type, status, error_code, duration_ms, request_bytes, response_bytes } = call
    const isUnknown = error_code === 'unknown_server' || error_code === 'unknown_tool'
    const key = {
      kind: 'tool_call',
      server_id: error_code === 'unknown_server' ? null : call.server_id,
      tool: isUnknown ? null : plain(tool), // a wrong name would be a series of its own
      agent_type,
      name: null,
      labels: null,
    } as const
    this.#observe(key, status, error_code, duration_ms, request_bytes, response_bytes)
  }

  #countCheck({ server_id, ok, duration_ms, error_code }: Facts['http_server_check']): void {
    const key = { kind: 'check', server_id, tool: null, agent_type: null, name: null, labels: null } as const
    this.#observe(key, ok ? 'ok' : 'error', error_code, duration_ms, 0, 0)
    this.checks.add({ server_id, ts: this.#deps.now(), ok, duration_ms, error_code })
  }

  #observe(
    key: SeriesKey,
    status: Sample['status'],
    error_code: string | null,
    duration_ms: number | null,
    request_bytes: number,
    response_bytes: number,
  ): void {
    const value = duration_ms === null ? null : Math.max(0, duration_ms)
    const ts = this.#deps.now()
    const sample = { ts, value, status, error_code, request_bytes, response_bytes }
    this.#count(this.series.getOrCombine(key), sample)
  }

  #count(series: Series, sample: Sample): void {
    const second = secondOf(sample.ts)
    if (sample.ts > series.lastAt) series.lastAt = sample.ts
    if (series.ofServer) series.ofServer.version += 1
    if (second > this.#second) {
      this.#fold()
      this.#second = second
    }
    if (second === this.#second) this.#current.record(series.id, sample)
    else this.#countLate(series.id, sample)
  }

  #countLate(series: number, sample: Sample): void {
    this.#history.add(series, sample, this.#deps.now())
    this.#total.record(series, sample)
    for (const window of this.#windows.values()) window.including(sample.ts)?.record(series, sample)
  }

  /** Moves the current second to the history. Later events of the same second are merged. */
  #fold(): void {
    if (this.#current.cells.size === 0) return
    this.#total.merge(this.#current)
    for (const window of this.#windows.values()) window.including(this.#second)?.merge(this.#current)
    this.#history.addSecond(this.#second, this.#current)
    this.#current = new Tally()
  }

  #save(isLast: boolean): 'saved' | 'recreated' {
    const blocks = this.#history.blocks()
    const series = this.#retention.unsaved()
    const { unsaved: checks } = this.checks
    const periods = this.availability.unsaved(isLast)
    if (blocks.length + series.length + checks.length + periods.length === 0) return 'saved'
    const rows = series.map(({ ofServer, lastAt, savedAt, ...key }) => ({ ...key, last_at: lastAt }))
    const outcome = this.#deps.store.save({ blocks, series: rows, checks, periods: atEveryLevel(periods) })
    if (outcome === 'recreated') return outcome
    this.#history.flushed()
    this.checks.saved()
    this.availability.saved(periods)
    for (const each of series) each.savedAt = each.lastAt
    return outcome
  }
}

/** A tool name as a label: without control characters, and cut to the maximum length. */
const plain = (name: string): string =>
  PLAIN.test(name) ? name : name.slice(0, MAX_NAME_LENGTH).replace(/\p{Cc}/gu, '\u{fffd}')
const PLAIN = /^[\w.-]{1,64}$/

function checkOf({ ts, status, value, error_code }: Event, server_id: string) {
  return { server_id, ts, ok: status === 'ok', duration_ms: value ?? 0, error_code }
}

function tooManySeries(): AppError {
  return new AppError('cardinality_limit', `The limit of ${MAX_SERIES} different label sets is reached`, {
    hint: 'Omit labels with unique values, such as ids and times',
  })
}

const KEPT_CHECKS = 100

/** The last checks of every HTTP server, newest last. */
class RecentChecks {
  readonly #byServer = new Map<string, Check[]>()
  #unsaved: Check[] = []

  constructor(stored: readonly Check[]) {
    for (const check of stored) this.#push(check)
  }

  add(check: Check): void {
    this.#push(check)
    this.#unsaved.push(check)
    // The store has failed for so long that most of these checks would not be kept anyway.
    if (this.#unsaved.length > 100 * KEPT_CHECKS) this.#unsaved = this.#unsaved.slice(-50 * KEPT_CHECKS)
  }

  of(server_id: string): readonly Check[] {
    return this.#byServer.get(server_id) ?? []
  }

  get unsaved(): readonly Check[] {
    return this.#unsaved
  }

  saved(): void {
    this.#unsaved = []
  }

  forget(server_id: string, store: MetricsStore): void {
    if (!this.#byServer.delete(server_id)) return
    this.#unsaved = this.#unsaved.filter((check) => check.server_id !== server_id)
    store.forgetChecks(server_id)
  }

  #push(check: Check): void {
    const checks = this.#byServer.get(check.server_id) ?? []
    checks.push(check)
    if (checks.length > KEPT_CHECKS) checks.shift()
    this.#byServer.set(check.server_id, checks)
  }
}

/** The start of the second. */
const secondOf = (ts: number): number => ts - (ts % 1000)
