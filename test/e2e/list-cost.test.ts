import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { pathOf, traced } from '../support/counted-program.ts'
import { ownFolder } from '../support/folder.ts'
import { AUTHORISED } from '../support/house.ts'

const SERVERS = 100
const LISTS = 40
const ROUNDS = 4
const MOST = 2

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

  const spent = { toolroom: 0, bare: 0 }
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [name, program, path] of [
      ['toolroom', toolroom, '/api/servers'],
      ['bare', bare, '/'],
    ] as const) {
      const before = cpuMs(program.pid)
      for (let n = 0; n < LISTS; n += 1) await program.get(path)
      if (round > 0) spent[name] += cpuMs(program.pid) - before // the first round is for the compiler
    }
  expect(spent.toolroom / spent.bare).toBeLessThanOrEqual(MOST)
})

/** Of the main thread. */
const cpuMs = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
