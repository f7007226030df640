import { copyFileSync, cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { figure } from '../support/figure.ts'
import { ownFolder } from '../support/folder.ts'
import { runs } from '../support/full-or-short.ts'
import { AUTHORISED as headers, openTestService } from '../support/test-service.ts'

const RUNS = runs(12, 100, 1000)

test(`R23: ${RUNS} damaged databases start with all their servers, or refuse to start and name a way out`, async () => {
  const service = await openTestService()
  for (let n = 0; n < 30; n += 1) {
    const body = {
      name: `server ${n}`,
      command: 'npx',
      args: ['-y', 'x'.repeat(300)],
      env: { KEY: `value ${n}` },
    }
    await service.inject({ method: 'POST', url: '/api/servers', headers, body })
  }
  await service.close()
  await (await openTestService({ home: service.home })).close() // takes the backup
  const size = readFileSync(join(service.data, 'toolroom.db')).length

  let refused = 0
  let started = 0
  const harm = fc.oneof(
    fc.record({
      kind: fc.constant('flip' as const),
      at: fc.nat(size - 1),
      bit: fc.nat(7),
      count: fc.integer({ min: 1, max: 64 }),
    }),
    fc.record({
      kind: fc.constant('cut' as const),
      at: fc.nat(size - 1),
      bit: fc.constant(0),
      count: fc.constant(0),
    }),
  )
  const property = fc.asyncProperty(harm, async ({ kind, at, bit, count }) => {
    const home = ownFolder()
    cpSync(service.home, home, { recursive: true })
    const path = join(home, 'data/toolroom.db')
    const bytes = readFileSync(path)
    for (let n = 0; n < count; n += 1) bytes[(at + n) % size] = (bytes[(at + n) % size] ?? 0) ^ (1 << bit)
    writeFileSync(path, kind === 'cut' ? bytes.subarray(0, at) : bytes)
    try {
      const again = await openTestService({ home })
      const { total } = (await again.inject('/api/servers')).json()
      await again.close()
      expect(total).toBe(30)
      started += 1
    } catch (error) {
      refused += 1
      expect(error).toMatchObject({ name: 'StartError', exitCode: expect.toBeOneOf([65, 78]) })
      expect(String(error)).toMatch(/--restore|newer Toolroom|secret key/)
      if (String(error).includes('--restore')) {
        const mended = await openTestService({ home, afterDamage: 'restore' })
        expect((await mended.inject('/api/servers')).json().total).toBe(30)
        await mended.close()
      }
    }
  })
  await fc.assert(property, { numRuns: RUNS, seed: 23, endOnFailure: true })
  figure('R23', 'starts with all servers, or refusals with a way out', started + refused, { exactly: RUNS })
  expect(refused).toBeGreaterThan(RUNS / 4)
}, 900_000)

test('R23: damaged configuration files are refused with their name and not modified', async () => {
  for (const text of ['{"port": ', '\0\0\0', '[1]', '{"nope": true}']) {
    const home = ownFolder()
    const service = await openTestService({ home })
    await service.close()
    const path = join(service.data, 'config.json')
    writeFileSync(path, text)
    copyFileSync(path, `${path}.before`)
    await expect(openTestService({ home })).rejects.toMatchObject({
      exitCode: 78,
      message: expect.stringContaining('config.json'),
    })
    expect(
      readFileSync(path).equals(readFileSync(`${path}.before`)) &&
        existsSync(join(service.data, 'toolroom.db')),
    ).toBe(true)
  }
})
