import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { clock } from '../../format/format.ts'
import css from './Chart.module.css'
import { onLookChange, token } from './canvas.ts'

export interface Line {
  readonly label: string
  readonly values: readonly (number | null)[]
  readonly color: 'g-p50' | 'g-p95' | 'g-pulse' | 'g-err' | 'g-1' | 'g-2'
  readonly dashed?: boolean
  readonly bars?: boolean
  readonly filled?: boolean
}

interface Props {
  /** Read for the whole chart: "Latency of postgres, last hour". */
  readonly label: string
  /** In seconds since 1970. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  /** Steps in which the server was down, in the order of `times`. */
  readonly down?: readonly boolean[]
  readonly format: (value: number) => string
  readonly height?: number
  /** Charts with the same name share the vertical line under the pointer. */
  readonly sync?: string
}

/** A chart over time. A page with charts also offers "View as table", because a picture cannot be read aloud. */
export function Chart({ label, times, lines, down, format, height = 132, sync = 'page' }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const data = [times, ...lines.map(({ values }) => values)] as uPlot.AlignedData
  const latest = useRef({ data, down })
  latest.current = { data, down }
  const shape = JSON.stringify(lines.map(({ values: _, ...look }) => look))

  useEffect(() => {
    const element = host.current
    if (!element) return
    const looks = JSON.parse(shape) as Omit<Line, 'values'>[]
    const stop = onLookChange(host, ({ width }) => {
      plot.current?.destroy()
      const options = optionsOf(looks, { width, height, format, sync, down: () => latest.current })
      plot.current = new uPlot(options, latest.current.data, element)
    })
    return () => {
      stop()
      plot.current?.destroy()
      plot.current = null
    }
  }, [shape, format, height, sync])

  // A page is drawn for many reasons. The chart is drawn again only for other values.
  const drawn = useRef<uPlot.AlignedData>(data)
  useEffect(() => {
    if (
      data.length === drawn.current.length &&
      data.every((values, index) => values === drawn.current[index])
    )
      return
    drawn.current = data
    plot.current?.setData(data)
  })
  return <div ref={host} className={css.chart} role="img" aria-label={label} style={{ height }} />
}

interface Look {
  readonly width: number
  readonly height: number
  readonly format: Props['format']
  readonly sync: string
  readonly down: () => { readonly data: uPlot.AlignedData; readonly down: readonly boolean[] | undefined }
}

function optionsOf(lines: readonly Omit<Line, 'values'>[], look: Look): uPlot.Options {
  const { width, height, format, sync, down } = look
  const axis = { stroke: token('muted'), font: `11px ${token('font')}`, ticks: { show: false }, gap: 6 }
  const barPaths = uPlot.paths.bars?.({ size: [0.8, 20] })
  return {
    width,
    height,
    padding: [8, 18, 0, 0], // half of the last label stands beyond the axis
    legend: { show: false },
    cursor: { sync: { key: sync }, y: false, points: { size: 5 }, drag: { x: false, y: false } },
    scales: { y: { range: (_, __, max) => [0, niceAbove(max)] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 64,
        size: 22,
        values: (_, ticks) => ticks.map((at) => clock(at * 1000)),
      },
      {
        ...axis,
        grid: { stroke: token('g-grid'), width: 1 },
        splits: (_, __, min, max) => [min, max / 2, max],
        values: (_, ticks) =>
          ticks.map((value) => (value === 0 ? '0' : format(value).replace(/\.0(?= )/, ''))),
        size: 52,
      },
    ],
    series: [
      {},
      ...lines.map(({ label, color, dashed, bars, filled }) => ({
        label,
        stroke: token(color),
        width: bars ? 0 : 1.5,
        ...(dashed && { dash: [4, 3] }),
        ...(bars && { fill: token(color) }),
        ...(bars && barPaths && { paths: barPaths }),
        ...(filled && { fill: token('g-fill') }),
        points: { show: false },
      })),
    ],
    hooks: { drawAxes: [(chart) => drawDown(chart, down().down)] },
  }
}

/** The next of 1, 2, 4, 6, 8, 10, 20, …, so that the half of it is a plain number, too. */
function niceAbove(value: number): number {
  if (!(value > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  const step = [1, 2, 4, 6, 8, 10].find((each) => each * power >= value) ?? 10
  return step * power
}

/** Down time is a band with a dashed left edge, so it can be seen without colour. */
function drawDown(chart: uPlot, down: readonly boolean[] | undefined): void {
  if (!down?.some(Boolean)) return
  const { ctx, bbox, data } = chart
  const times = data[0]
  const step = (times[1] ?? 0) - (times[0] ?? 0)
  ctx.save()
  ctx.strokeStyle = token('g-err')
  ctx.setLineDash([3, 3])
  down.forEach((isDown, index) => {
    const at = times[index]
    if (!isDown || at === undefined) return
    const [from, to] = [chart.valToPos(at, 'x', true), chart.valToPos(at + step, 'x', true)]
    ctx.fillStyle = token('err-tint')
    ctx.fillRect(from, bbox.top, Math.min(to, bbox.left + bbox.width) - from, bbox.height)
    if (down[index - 1]) return
    ctx.beginPath()
    ctx.moveTo(from, bbox.top)
    ctx.lineTo(from, bbox.top + bbox.height)
    ctx.stroke()
  })
  ctx.restore()
}
