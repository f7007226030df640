import { expect, test } from 'vitest'
import { expectLinear } from '../../../../test/support/linear.ts'
import { nearName } from './near-names.ts'
import { WELL_KNOWN } from './well-known-packages.ts'

const near = (name: string) => nearName({ name, downloads: null })

test.each([
  ['playwright-mcp', '@playwright/mcp'],
  ['@playwrlght/mcp', '@playwright/mcp'],
  ['@plawright/mcp', '@playwright/mcp'],
  ['@modelcontextprotoco1/server-github', '@modelcontextprotocol/server-github'],
  ['@modelcontextprotocols/server-github', '@modelcontextprotocol/server-github'],
  ['modelcontextprotocol-server-github', '@modelcontextprotocol/server-github'],
  ['@stranger/server-filesystem', '@modelcontextprotocol/server-filesystem'],
  ['firecrawl_mcp', 'firecrawl-mcp'],
  ['firecrawlmcp', 'firecrawl-mcp'],
  ['frecrawl-mcp', 'firecrawl-mcp'],
  ['mcp-rernote', 'mcp-remote'],
  ['mcp-rmeote', 'mcp-remote'],
  ['shadcm', 'shadcn'],
])('%s could be confused with %s', (name, known) => {
  expect(near(name)).toBe(known)
})

test.each([
  'notes-mcp',
  '@sentry/mcp',
  '@acme/mcp-server',
  'mcp',
  'mcp-server',
  '@modelcontextprotocol/server-gitlba',
  'git-mcp',
])('%s is not similar to a well-known name', (name) => {
  expect(near(name)).toBeUndefined()
})

test('no well-known name is similar to another', () => {
  expect(WELL_KNOWN.filter((name) => near(name) !== undefined)).toEqual([])
  expect(new Set(WELL_KNOWN).size).toBe(WELL_KNOWN.length)
})

test('a far more used package in the same results counts as well-known', () => {
  const results = [
    { name: 'calendar-tools', downloads: 90_000 },
    { name: 'calender-tools', downloads: 12 },
    { name: 'calendar-tool', downloads: null },
  ]
  const found = results.map((one) => nearName(one, results))
  expect(found).toEqual([undefined, 'calendar-tools', undefined])
})

test('the CPU time of a comparison of long names grows with the number of results, and not with its square', () => {
  const resultsOf = (length: number) =>
    Array.from({ length }, (_, i) => ({ name: `${'a'.repeat(200)}${i}`, downloads: i * 10_000 }))
  const results = { small: resultsOf(125), large: resultsOf(500) }
  expectLinear((size) => results[size].slice(0, 10).map((one) => nearName(one, results[size])))
})
