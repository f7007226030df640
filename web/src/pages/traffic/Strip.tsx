import { type KeyboardEvent, type PointerEvent, useCallback, useState } from 'react'
import { useTimeseries } from '../../data/metrics.ts'
import { clock } from '../../format/format.ts'
import { token, useCanvas } from '../../parts/charts/canvas.ts'
import split from '../../parts/charts/TimeSplit.module.css'
import { Act } from '../../parts/controls/Act.tsx'
import { t } from './messages.ts'
import css from './Strip.module.css'

/** In seconds since 1970. */
export interface Range {
  readonly since: number
  readonly until: number
}

interface Props {
  readonly range: Range | undefined
  readonly onRange: (range: Range | undefined) => void
  /** Which agents are not measured. */
  readonly note: string | undefined
}

/** Calls and errors of the last hour. A part of it is selected with the pointer or with the arrow keys. */
export function Strip({ range, onRange, note }: Props) {
  const { data } = useTimeseries('1h')
  const points = data?.points ?? []
  const stepS = data?.step_s ?? 60
  const times = points.map(({ ts }) => Date.parse(ts) / 1000)
  const [drag, setDrag] = useState<readonly [number, number]>()
  const canvas = useCanvas(
    useCallback(
      (context: CanvasRenderingContext2D, width: number, height: number) =>
        draw(context, width, height, points),
      [points],
    ),
  )
  const indexAt = ({ clientX, currentTarget }: PointerEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect()
    const at = Math.floor(((clientX - left) / width) * points.length)
    return Math.min(points.length - 1, Math.max(0, at))
  }
  const rangeOf = (a: number, b: number): Range | undefined => {
    const [since, last] = [times[Math.min(a, b)], times[Math.max(a, b)]]
    return since === undefined || last === undefined ? undefined : { since, until: last + stepS }
  }
  const selected = drag ? rangeOf(...drag) : range
  const begin = times[0] ?? 0
  const whole = points.length * stepS
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -stepS, ArrowRight: stepS }[event.key]
    if (by === undefined || points.length === 0) return
    event.preventDefault()
    const last = begin + whole - stepS
    if (!range) return onRange({ since: last, until: last + stepS })
    const since = Math.min(last, Math.max(begin, (event.shiftKey && by > 0 ? 0 : by) + range.since))
    const until = event.shiftKey ? range.until + Math.max(0, by) : since + stepS
    onRange({ since, until: Math.min(begin + whole, until) })
  }
  const sum = (field: 'calls' | 'errors') => points.reduce((total, point) => total + point[field], 0)
  const isEmpty = points.length > 0 && sum('calls') + sum('errors') === 0
  return (
    <div className={css.strip}>
      <div className={css.legend}>
        <span>{t('perMinute')}</span>
        {note && <span>{note}</span>}
        <span className={css.keys}>
          <i className={split.queue} /> {t('queue')}
          <i className={split.start} /> {t('coldStart')}
          <i className={split.server} /> {t('server')}
          <i className={split.failed} /> {t('error')}
        </span>
        {range ? (
          <Act size="xs" look="quiet" icon="close" onClick={() => onRange(undefined)}>
            {t('selected', { from: clock(range.since * 1000), to: clock(range.until * 1000) })}
          </Act>
        ) : (
          points.length > 0 && (
            <span className={css.hint}>
              {isEmpty
                ? t('noCalls')
                : t('dragHint', { from: clock(begin * 1000), to: clock((begin + whole) * 1000) })}
            </span>
          )
        )}
      </div>
      {!isEmpty && (
        <div className={css.plot}>
          <canvas
            ref={canvas}
            className={css.canvas}
            role="img"
            tabIndex={0}
            aria-label={t('strip', { count: sum('calls'), errors: sum('errors') })}
            onKeyDown={onKey}
            onPointerDown={(event) => {
              event.currentTarget.setPointerCapture(event.pointerId)
              setDrag([indexAt(event), indexAt(event)])
            }}
            onPointerMove={(event) => drag && setDrag([drag[0], indexAt(event)])}
            onPointerUp={() => {
              if (drag) onRange(rangeOf(...drag))
              setDrag(undefined)
            }}
            onPointerCancel={() => setDrag(undefined)}
          />
          {selected && whole > 0 && (
            <span
              className={css.selection}
              style={{
                left: `${Math.max(0, (selected.since - begin) / whole) * 100}%`,
                right: `${Math.max(0, 1 - (selected.until - begin) / whole) * 100}%`,
              }}
            />
          )}
        </div>
      )}
    </div>
  )
}

interface Point {
  readonly calls: number
  readonly errors: number
}

function draw(context: CanvasRenderingContext2D, width: number, height: number, points: readonly Point[]) {
  context.clearRect(0, 0, width, height)
  const [pulse, error] = [token('g-pulse'), token('g-err')]
  const step = width / Math.max(1, points.length)
  const most = Math.max(4, ...points.map(({ calls }) => calls))
  points.forEach(({ calls, errors }, index) => {
    const [x, wide] = [index * step, Math.max(1, step - 2)]
    const tall = calls === 0 ? 1 : Math.max(3, (calls / most) * (height - 2))
    context.fillStyle = pulse
    context.fillRect(x, height - tall, wide, tall)
    if (errors === 0) return
    context.fillStyle = error
    const red = Math.max(3, (errors / most) * (height - 2))
    context.fillRect(x, height - red, wide, red)
  })
}
