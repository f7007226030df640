/** The levels of servers' availability and resources. Their rows are few, so that a day is read in a few milliseconds. */
export const SERVER_STEP_MS = { minutes: 60_000, quarters: 900_000, hours: 3_600_000 } as const
export type ServerLevel = keyof typeof SERVER_STEP_MS

/** What is known about one server in one minute or hour. */
export interface ServerPeriod {
  readonly server_id: string
  readonly start: number
  /** How long it should have been available. */
  expected_ms: number
  /** How long it was not available, although it should have been. */
  down_ms: number
  /** How long its resources were measured. */
  sampled_ms: number
  /** The sum of percent × milliseconds. */
  cpu: number
  cpu_max: number
  /** The sum of bytes × milliseconds. */
  rss: number
  rss_max: number
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

export function addPeriod(sum: ServerPeriod, other: ServerPeriod): void {
  sum.expected_ms += other.expected_ms
  sum.down_ms += other.down_ms
  sum.sampled_ms += other.sampled_ms
  sum.cpu += other.cpu
  sum.cpu_max = Math.max(sum.cpu_max, other.cpu_max)
  sum.rss += other.rss
  sum.rss_max = Math.max(sum.rss_max, other.rss_max)
}

/** Periods by start and server. */
export class Periods {
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
