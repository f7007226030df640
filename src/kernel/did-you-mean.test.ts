import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AUTHORISED, openTestService } from '../../test/support/test-service.ts'
import { editsBetween, nearest } from './did-you-mean.ts'

const NAMES = ['github', 'gitlab', 'playwright', 'claude-code', 'a', 'fs']

test.each([
  ['githb', 'github'],
  ['GitHub', 'github'],
  ['gihtub', 'github'],
  ['playwrigth', 'playwright'],
  ['play', 'playwright'],
  ['claude_code', 'claude-code'],
  ['git', undefined], // two names begin with it
  ['b', undefined],
  ['notion', undefined],
  ['', undefined],
  ['x'.repeat(100_000), undefined],
])('the name that was probably meant by %j is %j', (given, meant) => {
  expect(nearest(given, NAMES)).toBe(meant)
})

test('the distance near the diagonal is that of the whole table, for up to three edits', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 9 })
  fc.assert(
    fc.property(word, word, fc.integer({ min: 0, max: 3 }), (a, b, allowed) => {
      const distance = wholeTable(a, b)
      expect(editsBetween(a, b, allowed)).toBe(distance <= allowed ? distance : undefined)
    }),
    { numRuns: 500 },
  )
})

/** Optimal string alignment, cell by cell. */
function wholeTable(a: string, b: string): number {
  const table: number[][] = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_, j) => (i === 0 ? j : j === 0 ? i : 0)),
  )
  const at = (i: number, j: number) => table[i]?.[j] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= a.length; i += 1)
    for (let j = 1; j <= b.length; j += 1) {
      const edits = [at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)]
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) edits.push(at(i - 2, j - 2) + 1)
      ;(table[i] as number[])[j] = Math.min(...edits)
    }
  return at(a.length, b.length)
}

describe('an unknown name gets a hint with the name that was probably meant', () => {
  test('servers, also of the other kind, agents, tools, fields and query parameters', async () => {
    const service = await openTestService()
    const post = (url: string, payload: object) =>
      service.inject({ method: 'POST', url, payload, headers: AUTHORISED })
    await post('/api/servers', { name: 'GitHub', command: 'node' })
    await post('/api/http-servers', { name: 'Docs', url: 'http://127.0.0.1:9/mcp', enabled: false })
    const get = async (url: string) => {
      const { status, hint, errors } = (await service.inject({ url, headers: AUTHORISED })).json()
      return [status, hint ?? errors?.[0]?.message]
    }
    expect(await get('/api/servers/githbu')).toEqual([404, "Did you mean 'github'?"])
    const elsewhere = "'docs' is an HTTP server, at /api/http-servers/docs"
    expect(await get('/api/servers/docs')).toEqual([404, elsewhere])
    expect(await get('/api/servers/Docs/tools')).toEqual([404, elsewhere])
    expect(await get('/api/http-servers/github')).toEqual([
      404,
      "'github' is a STDIO server, at /api/servers/github",
    ])
    expect(await get('/api/servers/dosc')).toEqual([404, `Did you mean 'docs'? It is${elsewhere.slice(9)}`])
    expect(await get('/api/metrics/servers/githubb')).toEqual([404, "Did you mean 'github'?"])
    expect(await get('/api/http-servers/github/metrics')).toEqual([
      404,
      expect.stringContaining('/api/servers/github'),
    ])
    expect(await get('/api/agents/cursr')).toEqual([404, "Did you mean 'cursor'?"])
    expect(await get('/api/agents/cursr/tools')).toEqual([404, "Did you mean 'cursor'?"])
    expect(await get('/api/logs?levle=info')).toEqual([422, "is not a known field: did you mean 'level'?"])
    expect((await post('/api/servers', { name: 'x', comand: 'node' })).json().errors).toEqual(
      expect.arrayContaining([{ path: '/comand', message: "is not a known field: did you mean 'command'?" }]),
    )
    const protectedPath = await service.inject({ method: 'DELETE', url: '/api/servers/githbu' })
    expect(protectedPath.json().hint).toBeUndefined()
  })
})
