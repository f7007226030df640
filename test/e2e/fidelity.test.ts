import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  allowedTable,
  loadSdks,
  openBed,
  rowOf,
  serversFor,
  staleIn,
} from '../../scripts/fidelity/short-form.mjs'
import { FULL, runs } from '../support/full-or-short.ts'

/** `npm run fidelity` compares more real servers in the same way. */
const onPosix = describe.runIf(process.platform !== 'win32') // servers are ended by their process groups
const PATIENCE_MS = 300_000
const SERVERS = serversFor(FULL)

onPosix('fidelity', () => {
  let sdks: Awaited<ReturnType<typeof loadSdks>> = []
  let bed: Awaited<ReturnType<typeof openBed>>
  const rows: Awaited<ReturnType<typeof rowOf>>[] = []

  beforeAll(async () => {
    sdks = await loadSdks()
    bed = await openBed()
  }, PATIENCE_MS)
  afterAll(() => bed.close())

  test.each(SERVERS.map((server) => [server.name, server] as const))(
    'the server %s answers at /mcp/{server_id} and at /mcp as it answers directly, in both eras and to both SDKs',
    async (_, server) => {
      const row = await rowOf(server, bed, sdks, FULL)
      rows.push(row)
      expect(row.unexplained).toEqual([])
      expect(row.comparisons).toBeGreaterThan(runs(50, 100))
    },
    PATIENCE_MS,
  )

  test('every difference that is listed as an exception of the gateway still occurs', () => {
    expect(rows).toHaveLength(SERVERS.length)
    // Of these servers, only one that the short form leaves out supports one era per process.
    expect(staleIn(rows)).toEqual(
      FULL ? [] : [expect.stringMatching(/^A server that supports one era per process/)],
    )
  })
})

/** UPDATE=1 writes the table. */
test('the table in docs/gateway.md has exactly the differences that the comparison allows', () => {
  const file = new URL('../../docs/gateway.md', import.meta.url)
  const page = readFileSync(file, 'utf8')
  const between = /(?<=<!-- fidelity -->\n).*?(?=<!-- \/fidelity -->)/s
  const text = `\n${allowedTable()}\n\n`
  if (process.env.UPDATE === '1') writeFileSync(file, page.replace(between, text))
  else expect(between.exec(page)?.[0]).toBe(text)
})
