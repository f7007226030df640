import { appendFileSync } from 'node:fs'
import { expect } from 'vitest'

/** A goal of the reliability table, R1 to R35. `scripts/goal-list.mjs` has all of them. */
type Goal = `R${number}`

type Limit = { readonly most: number } | { readonly least: number } | { readonly exactly: number }

/** Asserts that a measured figure is within its limit. `npm run goals` prints every figure in a table. */
export function figure(goal: Goal, what: string, is: number, limit: Limit): void {
  const ok = isWithin(is, limit)
  const line = { goal, what, is: rounded(is), limit: textOf(limit), ok }
  const file = process.env.TOOLROOM_FIGURES
  if (file) appendFileSync(file, `${JSON.stringify(line)}\n`)
  else console.log(`${goal}: ${what}: ${line.is} (${line.limit})`)
  expect(ok, `${goal}: ${what} is ${line.is}, but must be ${line.limit}`).toBe(true)
}

const isWithin = (is: number, limit: Limit): boolean =>
  'most' in limit ? is <= limit.most : 'least' in limit ? is >= limit.least : is === limit.exactly

function textOf(limit: Limit): string {
  if ('most' in limit) return `at most ${rounded(limit.most)}`
  return 'least' in limit ? `at least ${limit.least}` : `exactly ${limit.exactly}`
}

const rounded = (value: number): number => Math.round(value * 100) / 100
