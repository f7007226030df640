import { expect, test } from 'vitest'
import { logQuery } from './log-query.ts'
import { choosePlan, type Plan } from './query-plan.ts'

const MILLION = 1_000_000
const server = logQuery({ server_id: ['a'] })
const serverStream = logQuery({ server_id: ['a'], stream: ['mcp'] })
const servers = logQuery({ server_id: ['a', 'b'], stream: ['mcp'] })
const text = logQuery({ search: 'needle' })
const errorText = logQuery({ level: 'error', search: 'needle' })

test.each([
  ['a filter without an index', logQuery({ level: 'info' }), { accesses: [] }, 'scan'],
  ['one list without other conditions', server, { accesses: [900_000], hits: 0.9 }, 'logs_server'],
  ['two long lists', serverStream, { accesses: [200_000, 70_000] }, 'logs_stream logs_server'],
  ['a long list and a very short one', serverStream, { accesses: [200_000, 500] }, 'logs_stream'],
  ['a long list and a much longer one', serverStream, { accesses: [700_000, 30_000] }, 'logs_stream'],
  ['several merged lists and another list', servers, { accesses: [50_000, 60_000] }, 'logs_server'],
  ['lists with most of the lines', serverStream, { accesses: [600_000, 500_000], hits: 0.05 }, 'both'],
  ['a rare word', text, { accesses: [], text: 40 }, 'text'],
  ['a word in every fifth line', text, { accesses: [], text: 900_000, hits: 0.2 }, 'scan'],
  ['few errors, many lines with the word', errorText, { accesses: [900], text: 50_000 }, 'logs_error'],
  ['many errors, few lines with the word', errorText, { accesses: [50_000], text: 900 }, 'text'],
  [
    'many errors, many lines with the word',
    errorText,
    { accesses: [50_000], text: 80_000 },
    'logs_error text',
  ],
])('the best plan is chosen for %s', (_, query, estimates, expected) => {
  const plan = choosePlan(query, { all: MILLION, text: null, hits: 0.001, ...estimates })

  expect(describePlan(plan)).toBe(expected === 'both' ? 'logs_stream logs_server' : expected)
})

function describePlan(plan: Plan): string {
  if (plan.kind === 'scan') return 'scan'
  return [...plan.accesses.map(({ index }) => index), ...(plan.text ? ['text'] : [])].join(' ')
}
