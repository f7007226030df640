import { type KeyboardEvent, useCallback, useState } from 'react'
import { texts } from '../../i18n/texts.ts'
import { token, useCanvas } from './canvas.ts'
import css from './Heartbeat.module.css'

export interface Beat {
  readonly ts: string
  readonly calls: number
  readonly errors: number
  /** The server was down for at least half of the time. */
  readonly down: boolean
}

const t = texts('heartbeat', {
  label: '{name}: {calls} calls, {errors} errors',
  bar: { one: '{at}, {count} call, {errors} errors', other: '{at}, {count} calls, {errors} errors' },
  down: '{at}, down',
})

const [BAR, STEP, BASE] = [3, 5, 20]

interface Props {
  readonly beats: readonly Beat[]
  readonly name: string
  readonly formatTime: (ts: string) => string
}

/**
 * One bar for each step. Height: calls. Red with a foot below the line: errors. Hollow: down. Line: no calls.
 * So it can be read without colour. Arrow keys read the bars one by one.
 */
export function Heartbeat({ beats, name, formatTime }: Props) {
  const [at, setAt] = useState<number>()
  const draw = useCallback(
    (context: CanvasRenderingContext2D, width: number, height: number) =>
      drawBeats(context, beats.slice(-Math.floor((width + STEP - BAR) / STEP)), width, height),
    [beats],
  )
  const canvas = useCanvas(draw)
  const total = (field: 'calls' | 'errors') => beats.reduce((sum, beat) => sum + beat[field], 0)
  const current = at === undefined ? undefined : beats[at]
  const summary = t('label', { name, calls: total('calls'), errors: total('errors') })
  const move = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (by === undefined) return
    event.preventDefault()
    setAt((before) => Math.min(beats.length - 1, Math.max(0, (before ?? beats.length - 1) + by)))
  }
  return (
    <span className={css.beat}>
      <canvas
        ref={canvas}
        className={css.canvas}
        role="img"
        aria-label={current ? textOf(current, formatTime) : summary}
        tabIndex={0}
        onKeyDown={move}
        onBlur={() => setAt(undefined)}
        onMouseMove={({ nativeEvent: { offsetX, target } }) => {
          const visible = Math.floor(((target as HTMLElement).clientWidth + STEP - BAR) / STEP)
          const first = Math.max(0, beats.length - visible)
          setAt(Math.min(beats.length - 1, first + Math.floor(offsetX / STEP)))
        }}
        onMouseLeave={() => setAt(undefined)}
      />
      {current && (
        <span className={css.tip} aria-live="polite">
          {textOf(current, formatTime)}
        </span>
      )}
    </span>
  )
}

function textOf({ ts, calls, errors, down }: Beat, formatTime: Props['formatTime']): string {
  const at = formatTime(ts)
  return down ? t('down', { at }) : t('bar', { at, count: calls, errors })
}

function drawBeats(context: CanvasRenderingContext2D, beats: readonly Beat[], width: number, height: number) {
  context.clearRect(0, 0, width, height)
  const [pulse, error] = [token('g-pulse'), token('g-err')]
  const most = Math.max(4, ...beats.map(({ calls }) => calls))
  const isUsed = beats.some(({ calls }) => calls > 0) // a server that nobody calls misses nothing while it is down
  beats.forEach(({ calls, errors, down }, index) => {
    const x = index * STEP
    context.fillStyle = errors > 0 ? error : pulse
    if (down && isUsed) {
      context.strokeStyle = error
      context.lineWidth = 1
      context.strokeRect(x + 0.5, BASE - 4.5, BAR - 1, 4)
    } else if (calls === 0) {
      context.fillRect(x, BASE - 1, BAR, 1)
    } else {
      const tall = 2 + (calls / most) * (BASE - 5)
      context.beginPath()
      context.roundRect(x, BASE - tall, BAR, tall, 1)
      context.fill()
    }
    if (errors > 0) context.fillRect(x, BASE + 0.5, BAR, 1.5)
  })
}
