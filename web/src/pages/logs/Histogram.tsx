import { type PointerEvent, useCallback, useState } from 'react'
import type { Schemas } from '../../data/api.ts'
import { clock, count, seconds, whole } from '../../format/format.ts'
import { token, useCanvas } from '../../parts/charts/canvas.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { sinceLabel } from './Filters.tsx'
import type { Choice } from './filter.ts'
import css from './Logs.module.css'
import { t } from './messages.ts'

type Data = Schemas['LogHistogram']
interface Props {
  readonly data: Data | undefined
  readonly onZoom: (from: number, to: number) => void
  /** While a range is chosen: the range to go back to. */
  readonly fixed: Choice['since'] | undefined
  readonly onWhole: () => void
}
const LEGEND = [
  { name: 'info', color: 'g-pulse' },
  { name: 'warn', color: 'g-warn' },
  { name: 'error', color: 'g-err' },
] as const
const GAP = 2

/** How many lines each moment has, by level. Dragging over it chooses a range. */
export function Histogram({ data, onZoom, fixed, onWhole }: Props) {
  const [drag, setDrag] = useState<readonly [number, number]>()
  const draw = useCallback(
    (context: CanvasRenderingContext2D, width: number, height: number) =>
      drawBars(context, width, height, data),
    [data],
  )
  const canvas = useCanvas(draw)
  const shareAt = ({ clientX, currentTarget }: PointerEvent<HTMLElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect()
    return Math.min(1, Math.max(0, (clientX - left) / width))
  }
  const end = () => {
    setDrag(undefined)
    if (!data || !drag) return
    const [from, to] = [Math.min(...drag), Math.max(...drag)]
    const points = wholeSteps(data)
    const first = Date.parse(points[0]?.ts ?? data.since)
    const range = points.length * data.step_s * 1000
    if (to - from > 0.01) onZoom(Math.round(first + from * range), Math.round(first + to * range))
  }
  const sums = sumsOf(data)
  const isEmpty = data !== undefined && sums.info + sums.warn + sums.error === 0
  const name = data?.step_s === 60 ? t('linesPerMinute') : t('linesPer', { step: whole(data?.step_s ?? 30) })
  const far = data && Date.parse(data.until) - Date.parse(data.since) < 600_000 ? seconds : clock
  return (
    <div className={css.histogram}>
      <div className={css.legend}>
        <span>{name}</span>
        {LEGEND.map((entry) => (
          <span key={entry.name} className={css.entry}>
            <i className={css.swatch} data-level={entry.name} />
            {t(entry.name)} <b>{count(sums[entry.name])}</b>
          </span>
        ))}
        <span className="right">
          {fixed !== undefined && (
            <Act size="xs" look="quiet" onClick={onWhole}>
              {t('wholeRange', { since: sinceLabel(fixed) })}
            </Act>
          )}
          {data && !isEmpty && t('dragToZoom', { from: far(data.since), to: far(data.until) })}
        </span>
      </div>
      {!isEmpty && (
        <div
          className={css.bars}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId)
            setDrag([shareAt(event), shareAt(event)])
          }}
          onPointerMove={(event) => drag && setDrag([drag[0], shareAt(event)])}
          onPointerUp={end}
        >
          <canvas ref={canvas} role="img" aria-label={t('histogramLabel', { name, ...sums })} />
          {drag && (
            <span
              className={css.drag}
              style={{
                left: `${Math.min(...drag) * 100}%`,
                width: `${Math.abs(drag[1] - drag[0]) * 100}%`,
              }}
            />
          )}
        </div>
      )}
    </div>
  )
}

/** Of the first step, a part may lie before the range: its bar would be too low. */
function wholeSteps({ points, since }: Data): Data['points'] {
  const [first] = points
  const isCut = first !== undefined && points.length > 2 && Date.parse(first.ts) < Date.parse(since)
  return isCut ? points.slice(1) : points
}

/** Three levels are enough to see: quiet, warnings, errors. */
const levelsOf = ({ trace, debug, info, warn, error, fatal }: Data['points'][number]) => ({
  info: trace + debug + info,
  warn,
  error: error + fatal,
})

function sumsOf(data: Data | undefined) {
  const sums = { info: 0, warn: 0, error: 0 }
  for (const point of data?.points ?? []) {
    const { info, warn, error } = levelsOf(point)
    sums.info += info
    sums.warn += warn
    sums.error += error
  }
  return sums
}

function drawBars(context: CanvasRenderingContext2D, width: number, height: number, data: Data | undefined) {
  context.clearRect(0, 0, width, height)
  const points = data ? wholeSteps(data) : []
  const highest = Math.max(1, ...points.map(({ total }) => total))
  const step = width / Math.max(1, points.length)
  for (const [index, point] of points.entries()) {
    let bottom = height
    const levels = levelsOf(point)
    for (const { name, color } of LEGEND.toReversed()) {
      const lines = levels[name]
      if (lines === 0) continue
      const tall = Math.max(1.5, (lines / highest) * height)
      context.fillStyle = token(color)
      context.fillRect(index * step, bottom - tall, Math.max(1, step - GAP), tall)
      bottom -= tall
    }
  }
}
