import { median, round } from '../statistics.ts'
import * as measures from './measures.ts'
import { atLeast, atMost, ratio, row } from './rounds.ts'

const { LIBRARY } = measures

export interface Found {
  readonly oneByOne: Awaited<ReturnType<typeof measures.oneByOne>>
  readonly atOnce: Awaited<ReturnType<typeof measures.atOnce>>
  readonly large: Awaited<ReturnType<typeof measures.large>>
  readonly largeResults: Awaited<ReturnType<typeof measures.largeResults>>
  readonly visits: Awaited<ReturnType<typeof measures.visits>>
  readonly frozen: Awaited<ReturnType<typeof measures.frozen>>
  readonly library: Awaited<ReturnType<typeof measures.library>>
  readonly everything: Awaited<ReturnType<typeof measures.everything>>
  readonly launches: Awaited<ReturnType<typeof measures.launches>>
}

export function rowsOf(found: Found) {
  const { oneByOne, large: kib, largeResults: results, visits, library, everything } = found
  const cpu = (who: keyof Found['atOnce']) => found.atOnce[who].map(({ cpuUs }) => cpuUs)
  const rate = (who: keyof Found['atOnce']) => found.atOnce[who].map(({ perSecond }) => perSecond)
  const one = (who: keyof Found['oneByOne'], figure: 'p50' | 'p99' | 'cpuUs') =>
    oneByOne[who].map((measured) => measured[figure])
  const hops = (who: keyof Found['oneByOne'], figure: 'p50' | 'p99' = 'p50') =>
    ratio(one(who, figure), one('stdio', figure), one('floor', figure))
  const oneCpu = (who: keyof Found['oneByOne']) => ratio(one(who, 'cpuUs'), one('floor', 'cpuUs'))
  const FLOOR = 'http-floor'
  const HOPS = 'stdio hop + http-floor'
  return [
    row('tools/call, p50', HOPS, hops('ours'), {
      goal: atMost(1.45, round(1.05 * hops('passThrough'))),
      passThrough: hops('passThrough'),
    }),
    row('tools/call of 2026-07-28, p50', HOPS, hops('modern')),
    row('tools/call, p99', HOPS, hops('ours', 'p99'), {
      goal: atMost(2.2, 1.8),
      passThrough: hops('passThrough', 'p99'),
    }),
    row('CPU per call, one at a time', FLOOR, oneCpu('ours'), {
      goal: atMost(2.2, 1.8),
      passThrough: oneCpu('passThrough'),
    }),
    row('CPU per call, 64 in flight', FLOOR, ratio(cpu('ours'), cpu('floor')), {
      goal: atMost(1.3, 1.1),
      passThrough: ratio(cpu('passThrough'), cpu('floor')),
    }),
    row('CPU per call of 2026-07-28, 64 in flight', FLOOR, ratio(cpu('modern'), cpu('floor'))),
    row('calls/s, 64 in flight', FLOOR, ratio(rate('ours'), rate('floor')), {
      goal: atLeast(0.8, round(0.95 * ratio(rate('passThrough'), rate('floor')))),
      passThrough: ratio(rate('passThrough'), rate('floor')),
    }),
    row('256 KiB there and back, p50', HOPS, ratio(kib.ours, kib.stdio, kib.floor), {
      goal: atMost(0.85, 0.75),
      passThrough: ratio(kib.passThrough, kib.stdio, kib.floor),
    }),
    row('256 KiB result, CPU', FLOOR, ratio(results.ours, results.floor), {
      goal: atMost(0.8, 0.5),
      passThrough: ratio(results.passThrough, results.floor),
    }),
    row(
      'new session + tools/list + end, p50',
      `the same 4 requests, ${FLOOR}`,
      ratio(visits.ours, visits.floor),
      {
        goal: atMost(2.6, 2),
      },
    ),
    row(
      `tools/list of ${LIBRARY.servers} × ${LIBRARY.tools}, p50`,
      'one server with all tools + http-floor, same bytes',
      ratio(library.ours, library.stdio, library.floor),
      { goal: atMost(0.35, 0.3) },
    ),
    row('launch → first call', 'pass-through', ratio(found.launches.ours, found.launches.passThrough), {
      goal: atMost(4, 2.5),
    }),
    row('p99 while another server is frozen', 'p99 before', ratio(found.frozen.during, found.frozen.before), {
      goal: atMost(1.1, 1.05),
    }),
    row(
      'server-everything, p50',
      'its own HTTP mode',
      ratio(everything.oneByOne.ours, everything.oneByOne.own),
    ),
    row(
      'server-everything, calls/s, 64 in flight',
      'its own HTTP mode',
      ratio(everything.atOnce.ours, everything.atOnce.own),
    ),
    row('tools/call, p50 ms', '', median(one('ours', 'p50')), {
      passThrough: median(one('passThrough', 'p50')),
    }),
    row('CPU per call, 64 in flight, µs', '', median(cpu('ours')), {
      passThrough: median(cpu('passThrough')),
    }),
  ]
}
