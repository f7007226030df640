import { readFileSync, utimesSync } from 'node:fs'
import { expect, test } from 'vitest'
import { AGENTS } from '../../src/agents/catalogue/agent-catalogue.ts'
import { put } from '../support/agents.ts'
import { pathOf, traced } from '../support/counted-program.ts'
import { ownFolder } from '../support/folder.ts'
import { AUTHORISED } from '../support/test-service.ts'

const SERVERS = 100
const LISTS = 40
const GRIDS = 10
const ROUNDS = 4
const MOST = 2
const MOST_GRID = 3

/** CPU time is compared with a bare server that stringifies the same list, in turns, so that other work affects both. */
test(`a list of ${SERVERS} servers takes at most ${MOST} times the CPU of a bare node:http response`, async () => {
  const home = ownFolder()
  const toolroom = await traced(pathOf('dist/main.js'), home)
  const bare = await traced(pathOf('bench/bare-list.mjs'), home)
  const manage = { ...AUTHORISED, 'content-type': 'application/json' }
  for (let n = 0; n < SERVERS; n += 1) {
    const args = ['-y', `package-${n}`, '--token', 'x']
    await toolroom.post(
      '/api/servers',
      manage,
      { name: `server ${n}`, command: 'npx', args, env: { A: 'b' } },
      201,
    )
  }
  const list = (await toolroom.get('/api/servers')).body
  expect(list.items).toHaveLength(SERVERS)
  await bare.post('/', {}, list.items)
  expect((await bare.get('/')).body).toEqual(list)

  expect(await ratioOf(toolroom, '/api/servers', bare, LISTS)).toBeLessThanOrEqual(MOST)
})

/** An entry for each server in the file of each agent that keeps them in a map of JSON. */
test(`the grid of ${SERVERS} servers and all agents takes at most ${MOST_GRID} times the CPU of a bare node:http response`, async () => {
  const home = ownFolder()
  const mine = AGENTS.filter(({ container, keyPath, scopes }) => {
    const path = scopes.find(({ scope }) => scope === 'user')?.paths.linux[0]
    return (
      container === 'map' &&
      keyPath.join() === 'mcpServers' &&
      path?.startsWith('~/') &&
      path.endsWith('json')
    )
  })
  const entries = Array.from({ length: SERVERS }, (_, n) => [
    `server-${n}`,
    { command: 'npx', args: ['-y', `package-${n}`, '--token', 'x'], env: { A: 'b' } },
  ])
  const long = new Date(Date.now() - 60_000)
  for (const { scopes } of mine) {
    const path = scopes.find(({ scope }) => scope === 'user')?.paths.linux[0]?.slice(2) ?? ''
    utimesSync(
      put(home, path, JSON.stringify({ mcpServers: Object.fromEntries(entries) }, null, 2)),
      long,
      long,
    )
  }
  const toolroom = await traced(pathOf('dist/main.js'), home)
  const bare = await traced(pathOf('bench/bare-list.mjs'), home)
  const manage = { ...AUTHORISED, 'content-type': 'application/json' }
  for (const [name, entry] of entries)
    await toolroom.post('/api/servers', manage, { name, ...(entry as object) }, 201)
  const url = '/api/agents?include=servers,tools'
  const list = (await toolroom.get(url)).body
  const linked = list.items.flatMap(({ servers }: { servers: object[] }) => servers)
  expect(linked.length).toBe(mine.length * SERVERS)
  await bare.post('/', {}, list.items)
  expect(await ratioOf(toolroom, url, bare, GRIDS)).toBeLessThanOrEqual(MOST_GRID)
})

type Program = Awaited<ReturnType<typeof traced>>

async function ratioOf(toolroom: Program, path: string, bare: Program, reads: number): Promise<number> {
  const spent = { toolroom: 0, bare: 0 }
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [name, program, url] of [
      ['toolroom', toolroom, path],
      ['bare', bare, '/'],
    ] as const) {
      const before = cpuMs(program.pid)
      for (let n = 0; n < reads; n += 1) await program.get(url)
      if (round > 0) spent[name] += cpuMs(program.pid) - before // the first round is for the compiler
    }
  return spent.toolroom / spent.bare
}

/** Of the main thread. */
const cpuMs = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
