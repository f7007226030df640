import { appendFileSync } from 'node:fs'
import { expect } from 'vitest'

/** A goal of the reliability table, R1 to R29. `scripts/goal-list.mjs` has all of them. */
type Goal = `R${number}`

type Limit = { readonly most: number } | { readonly least: number } | { readonly exactly: number }

/** Asserts that a measured figure is within its limit. `npm run goals` prints every figure in a table. */
export function figure(goal: Goal, what: string, is: number, limit: Limit): void {
  const ok = isWithin(is, limit)
  const rounded = Math.round(is * 100) / 100
  const line = { goal, what, is: rounded, limit: textOf(limit), ok }
  const file = process.env.TOOLROOM_FIGURES
  if (file) appendFileSync(file, `${JSON.stringify(line)}\n`)
  else console.log(`${goal}: ${what}: ${rounded} (${line.limit})`)
  expect(ok, `${goal}: ${what} is ${rounded}, but must be ${line.limit}`).toBe(true)
}

const isWithin = (is: number, limit: Limit): boolean =>
  'most' in limit ? is <= limit.most : 'least' in limit ? is >= limit.least : is === limit.exactly

const textOf = (limit: Limit): string =>
  'most' in limit
    ? `at most ${limit.most}`
    : 'least' in limit
      ? `at least ${limit.least}`
      : `exactly ${limit.exactly}`
