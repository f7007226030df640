import { useCallback } from 'react'
import { token, useCanvas } from './canvas.ts'
import css from './Spark.module.css'

interface Props {
  readonly values: readonly (number | null)[]
  /** `bars` for counts, `line` for times. */
  readonly kind: 'bars' | 'line'
  readonly color: 'g-pulse' | 'g-err' | 'g-p50' | 'g-p95'
}

/** A small drawing of a figure over time, beside the figure itself, which is what is read. */
export function Spark({ values, kind, color }: Props) {
  const draw = useCallback(
    (context: CanvasRenderingContext2D, width: number, height: number) => {
      context.clearRect(0, 0, width, height)
      context.fillStyle = context.strokeStyle = token(color)
      const most = Math.max(1e-9, ...values.map((value) => value ?? 0))
      if (kind === 'bars') drawBars(context, values, most, width, height)
      else drawLine(context, values, most, width, height)
    },
    [values, kind, color],
  )
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a canvas without a tab stop
  return <canvas ref={useCanvas(draw)} className={css.spark} aria-hidden="true" />
}

type Draw = (
  context: CanvasRenderingContext2D,
  values: Props['values'],
  most: number,
  width: number,
  height: number,
) => void

const drawBars: Draw = (context, values, most, width, height) => {
  const step = width / Math.max(1, values.length)
  values.forEach((value, index) => {
    const tall = value ? Math.max(2, (value / most) * height) : 0
    if (tall > 0) context.fillRect(index * step, height - tall, Math.max(1, step - 1), tall)
  })
  context.fillStyle = token('g-pulse')
  values.forEach((value, index) => {
    if (!value) context.fillRect(index * step, height - 1, Math.max(1, step * 0.6), 1)
  })
}

/** A gap in the values is a gap in the line. */
const drawLine: Draw = (context, values, most, width, height) => {
  const step = width / Math.max(1, values.length - 1)
  const yOf = (value: number) => height - 2 - (value / most) * (height - 6)
  const runs: [number, number][][] = [[]]
  values.forEach((value, index) => {
    if (value === null) runs.push([])
    else runs.at(-1)?.push([index * step, yOf(value)])
  })
  context.lineWidth = 1.5
  for (const run of runs) {
    const [first, last] = [run[0], run.at(-1)]
    if (!first || !last) continue
    context.beginPath()
    for (const [x, y] of run) context.lineTo(x, y)
    if (run.length === 1) context.lineTo(first[0] - 3, first[1])
    context.stroke()
    context.lineTo(last[0], height)
    context.lineTo(first[0], height)
    context.globalAlpha = 0.14
    context.fill()
    context.globalAlpha = 1
  }
}
