import { expect, test } from 'vitest'
import { LostLines } from './log-pipeline.ts'

const MINUTE_MS = 60_000

test('the first lost lines are reported at once, further ones after ten minutes, and the rest at the end', () => {
  let now = 0
  const reports: [lines: number, why: string][] = []
  const lost = new LostLines(
    (lines, why) => reports.push([lines, why]),
    () => now,
  )
  lost.add(3, 'a')
  lost.add(200, 'b')
  expect(reports).toEqual([[3, 'a']])
  now += 10 * MINUTE_MS
  lost.add(1, 'c')
  expect(reports.slice(1)).toEqual([[201, 'c']])
  now += 10 * MINUTE_MS
  lost.add(99, 'd')
  expect(reports).toHaveLength(2)
  lost.flush()
  lost.flush()
  expect(reports.slice(2)).toEqual([[99, 'd']])
})
