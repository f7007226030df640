import type { FactBus } from '../../kernel/fact-bus.ts'
import type { Resources } from '../../kernel/server-state.ts'
import { floorTo } from './metric-history.ts'
import { type MetricsStore, SERVER_STEP_MS, type ServerLevel, type ServerPeriod } from './metrics-store.ts'

interface Deps {
  readonly store: Pick<MetricsStore, 'periods'>
  readonly now: () => number
  /** Milliseconds of a clock that never jumps, and stands still while the computer sleeps. */
  readonly elapsed: () => number
}

/** A server that is not in one of these lists is not expected to be available: it is asleep, stopped or disabled. */
const UP: readonly string[] = ['running', 'connected', 'degraded']
const DOWN: readonly string[] = ['starting', 'backoff', 'failed', 'auth_required', 'unreachable', 'error']

/** How long times are kept to the millisecond: the window `5m`. */
const RECENT_MS = 5 * 60_000
const MAX_UNSAVED = 20_000
/** A sample describes the time since the one before it, but not the time before the server was started. */
const LONGEST_SAMPLE_MS = 20_000
const FIRST_SAMPLE_MS = 2000

/** What is known of one server since the start of Toolroom. */
interface Known {
  status: string
  since: number
  sampledAt: number | undefined
  restarts: number
  cpuMs: number
  rssBytes: number
  /** Times within the last minutes. */
  readonly down: { from: number; to: number }[]
  readonly samples: { readonly to: number; readonly ms: number; readonly cpu: number; readonly rss: number }[]
}

/** The availability and the resources of servers, by minute and hour. The store gets whole minutes. */
export class ServerAvailability {
  readonly #deps: Deps
  readonly #known = new Map<string, Known>()
  readonly #unsaved = new Periods(SERVER_STEP_MS.minutes)

  constructor(deps: Deps) {
    this.#deps = deps
  }

  listen(facts: FactBus): (() => void)[] {
    return [
      facts.on('server_status', ({ server_id, state }) => this.setStatus(server_id, state.status)),
      facts.on('http_server_check', ({ server_id, status }) => this.setStatus(server_id, status)),
      facts.on('server_resources', ({ server_id, resources }) => this.sample(server_id, resources)),
      facts.on('server_removed', ({ server_id }) => {
        this.setStatus(server_id, 'removed')
        this.#known.delete(server_id)
      }),
    ]
  }

  /** Counts the time since the last call for the former status. Call it from time to time, also without a change. */
  setStatus(server_id: string, status: string): void {
    const { now, elapsed } = this.#deps
    const known = this.#of(server_id)
    const ms = elapsed() - known.since
    if (ms > 0) this.#count(server_id, known, now() - ms, now())
    if (status === 'starting' && (known.status === 'backoff' || known.status === 'running'))
      known.restarts += 1
    if (status !== 'running') {
      known.sampledAt = undefined
      known.rssBytes = 0
    }
    known.status = status
    known.since = elapsed()
  }

  sample(server_id: string, { cpu_pct, rss_bytes }: Resources): void {
    const { now, elapsed } = this.#deps
    const known = this.#of(server_id)
    const at = elapsed()
    const ms = Math.min(
      known.sampledAt === undefined ? FIRST_SAMPLE_MS : at - known.sampledAt,
      LONGEST_SAMPLE_MS,
    )
    const to = now()
    known.sampledAt = at
    known.rssBytes = rss_bytes
    known.cpuMs += (cpu_pct / 100) * ms
    known.samples.push({ to, ms, cpu: cpu_pct, rss: rss_bytes })
    dropBefore(known.samples, to - RECENT_MS)
    for (const [period, part] of this.#unsaved.across(server_id, to - ms, to))
      addSample(period, part, cpu_pct, rss_bytes)
  }

  /** Of a server since the start of Toolroom. */
  totals(server_id: string): Readonly<typeof NOTHING> {
    return this.#known.get(server_id) ?? NOTHING
  }

  /** Periods of the given length, from the last five minutes, of which the exact times are known. */
  recent(from: number, to: number, step: number, server_id: string | undefined): ServerPeriod[] {
    const periods = new Periods(step)
    for (const [id, { down, samples }] of this.#known) {
      if (server_id !== undefined && id !== server_id) continue
      for (const range of down)
        for (const [period, ms] of periods.across(id, Math.max(from, range.from), Math.min(to, range.to)))
          period.down_ms += ms
      for (const sample of samples)
        for (const [period, ms] of periods.across(
          id,
          Math.max(from, sample.to - sample.ms),
          Math.min(to, sample.to),
        ))
          addSample(period, ms, sample.cpu, sample.rss)
    }
    return periods.all()
  }

  /** Periods of the given length, a multiple of the level's. */
  between(
    level: ServerLevel,
    from: number,
    to: number,
    step: number,
    server_id: string | undefined,
  ): ServerPeriod[] {
    const periods = new Periods(step)
    for (const period of this.#deps.store.periods(level, from, to, step, server_id))
      addPeriod(periods.at(period.server_id, period.start), period)
    const first = floorTo(from, SERVER_STEP_MS.minutes)
    for (const period of this.#unsaved.all()) {
      if (period.start < first || period.start >= to) continue
      if (server_id === undefined || period.server_id === server_id)
        addPeriod(periods.at(period.server_id, period.start), period)
    }
    return periods.all()
  }

  /** The minutes that are over; with `all`, also the current one. */
  unsaved(all: boolean): ServerPeriod[] {
    const current = floorTo(this.#deps.now(), SERVER_STEP_MS.minutes)
    return this.#unsaved.all().filter(({ start }) => all || start !== current)
  }

  /** Limits memory while the store fails. */
  dropOldest(): void {
    for (const period of this.#unsaved.all().slice(0, -MAX_UNSAVED)) this.#unsaved.delete(period)
  }

  saved(periods: readonly ServerPeriod[]): void {
    for (const period of periods) this.#unsaved.delete(period)
  }

  #of(server_id: string): Known {
    const known = this.#known.get(server_id)
    if (known) return known
    const since = this.#deps.elapsed()
    const added = { status: 'unknown', since, sampledAt: undefined, ...NOTHING, down: [], samples: [] }
    this.#known.set(server_id, added)
    return added
  }

  #count(server_id: string, { status, down }: Known, from: number, to: number): void {
    const isDown = DOWN.includes(status)
    if (!isDown && !UP.includes(status)) return
    for (const [period, ms] of this.#unsaved.across(server_id, from, to)) {
      period.expected_ms += ms
      if (isDown) period.down_ms += ms
    }
    if (!isDown) return
    const last = down.at(-1)
    // Two readings of two clocks differ by a fraction of a millisecond.
    if (last && Math.abs(from - last.to) < 2) last.to = to
    else down.push({ from, to })
    dropBefore(down, to - RECENT_MS)
  }
}

const NOTHING = { restarts: 0, cpuMs: 0, rssBytes: 0 }

function addSample(period: ServerPeriod, ms: number, cpu: number, rss: number): void {
  period.sampled_ms += ms
  period.cpu += cpu * ms
  period.cpu_max = Math.max(period.cpu_max, cpu)
  period.rss += rss * ms
  period.rss_max = Math.max(period.rss_max, rss)
}

function dropBefore(items: { readonly to: number }[], ts: number): void {
  const kept = items.findIndex(({ to }) => to >= ts)
  items.splice(0, kept === -1 ? items.length : kept)
}

const newPeriod = (server_id: string, start: number): ServerPeriod => ({
  server_id,
  start,
  expected_ms: 0,
  down_ms: 0,
  sampled_ms: 0,
  cpu: 0,
  cpu_max: 0,
  rss: 0,
  rss_max: 0,
})

function addPeriod(sum: ServerPeriod, other: ServerPeriod): void {
  for (const field of ['expected_ms', 'down_ms', 'sampled_ms', 'cpu', 'rss'] as const)
    sum[field] += other[field]
  for (const field of ['cpu_max', 'rss_max'] as const) sum[field] = Math.max(sum[field], other[field])
}

/** Periods by start and server. */
class Periods {
  readonly #step: number
  readonly #byKey = new Map<string, ServerPeriod>()

  constructor(step: number) {
    this.#step = step
  }

  /** The period of a server that contains this time. */
  at(server_id: string, ts: number): ServerPeriod {
    const start = Math.floor(ts / this.#step) * this.#step
    const key = `${start} ${server_id}`
    const known = this.#byKey.get(key)
    if (known) return known
    const period = newPeriod(server_id, start)
    this.#byKey.set(key, period)
    return period
  }

  /** The parts of a time range, each with its period. */
  *across(server_id: string, from: number, to: number): Generator<readonly [ServerPeriod, ms: number]> {
    for (let at = from; at < to; ) {
      const period = this.at(server_id, at)
      const end = Math.min(to, period.start + this.#step)
      yield [period, end - at]
      at = end
    }
  }

  all(): ServerPeriod[] {
    return [...this.#byKey.values()]
  }

  delete({ server_id, start }: ServerPeriod): void {
    this.#byKey.delete(`${start} ${server_id}`)
  }
}

/** Minutes, and the longer periods that they are part of. */
export function atEveryLevel(minutes: readonly ServerPeriod[]): Record<ServerLevel, ServerPeriod[]> {
  const sums = (step: number) => {
    const periods = new Periods(step)
    for (const minute of minutes) addPeriod(periods.at(minute.server_id, minute.start), minute)
    return periods.all()
  }
  const { minutes: minute, quarters, hours } = SERVER_STEP_MS
  return { minutes: sums(minute), quarters: sums(quarters), hours: sums(hours) }
}
