import { duration, seconds } from '../../format/format.ts'
import { Chart } from '../../parts/charts/Chart.tsx'
import { type Beat, Heartbeat } from '../../parts/charts/Heartbeat.tsx'
import { PhaseBar } from '../../parts/charts/PhaseBar.tsx'
import { Spark } from '../../parts/charts/Spark.tsx'
import { TimeSplit } from '../../parts/charts/TimeSplit.tsx'
import { t } from './messages.ts'
import { Part } from './Part.tsx'

const MINUTES = Array.from({ length: 60 }, (_, index) => index)
const START_S = 1_794_800_000
const wave = (index: number) => Math.round(6 + 5 * Math.sin(index / 6) + (index % 4))
const at = (index: number) => new Date((START_S + index * 60) * 1000).toISOString()
const beats = (of: (index: number) => Partial<Beat>): Beat[] =>
  MINUTES.map((index) => ({ ts: at(index), calls: wave(index), errors: 0, down: false, ...of(index) }))

const BUSY = beats((index) => ({ errors: index === 31 ? 2 : 0 }))
const BROKEN = beats((index) => ({ errors: index > 50 && index % 2 ? 3 : 0, down: index > 55 }))
const QUIET = beats(() => ({ calls: 0 }))
const P50 = MINUTES.map((index) => 80 + wave(index))
const P95 = MINUTES.map((index) => (index === 20 ? null : 300 + wave(index) * (index > 48 ? 90 : 8)))

export function ChartParts() {
  return (
    <>
      <Part title={t('heartbeat')}>
        <Heartbeat beats={BUSY} name="github" formatTime={seconds} />
        <Heartbeat beats={BROKEN} name="postgres" formatTime={seconds} />
        <Heartbeat beats={QUIET} name="memory" formatTime={seconds} />
      </Part>
      <Part title={t('sparks')}>
        <Spark kind="bars" color="g-pulse" values={MINUTES.map(wave)} />
        <Spark kind="bars" color="g-err" values={MINUTES.map((index) => (index > 54 ? 2 : 0))} />
        <Spark kind="line" color="g-p50" values={P50} />
        <Spark kind="line" color="g-p95" values={P95} />
      </Part>
      <Part title={t('chart')}>
        <Chart
          label="Latency, last hour"
          times={MINUTES.map((index) => START_S + index * 60)}
          lines={[
            { label: 'p50', values: P50, color: 'g-p50' },
            { label: 'p95', values: P95, color: 'g-p95', dashed: true },
          ]}
          down={MINUTES.map((index) => index > 56)}
          format={duration}
        />
        <Chart
          label="Calls, last hour"
          times={MINUTES.map((index) => START_S + index * 60)}
          lines={[{ label: 'calls', values: MINUTES.map(wave), color: 'g-pulse', bars: true }]}
          format={String}
        />
      </Part>
      <Part title={t('timeSplit')}>
        <TimeSplit queue_ms={2} start_ms={480} server_ms={498} />
        <TimeSplit queue_ms={2} start_ms={0} server_ms={1998} failed />
      </Part>
      <Part title={t('phases')}>
        <PhaseBar
          label="browser-pilot-mcp"
          phases={[
            { name: 'resolve', state: 'done' },
            { name: 'download', state: 'now' },
            { name: 'check', state: 'look' },
            { name: 'start', state: 'failed' },
            { name: 'tools', state: 'later' },
          ]}
        />
      </Part>
    </>
  )
}
