import { homedir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SERVER_COMMANDS } from '../commands/server-commands.ts'
import { readGiven } from '../run/read-arguments.ts'
import { type Confinement, editCommand, isolationGiven, isolationText } from './isolation.ts'

const CLOSED: Confinement = {
  isolation: 'none',
  isolation_options: { write: [], read: [], network: 'none', image: null, memory_mb: 1024, pids: 256 },
}
const confinement = (
  isolation: Confinement['isolation'],
  options: Partial<Confinement['isolation_options']>,
): Confinement => ({
  isolation,
  isolation_options: { ...CLOSED.isolation_options, ...options },
})

function givenTo(argv: readonly string[], before?: Confinement) {
  const edit = SERVER_COMMANDS.find(({ name }) => name === 'edit') ?? expect.unreachable()
  const given = readGiven(edit, ['files', ...argv], [])
  return given === 'help' ? expect.unreachable() : isolationGiven(given, before?.isolation_options)
}

test('paths are absolute, begin with ~/ in the home, and are added to those of the server', () => {
  const before = confinement('sandbox', { write: ['~/notes'], read: ['/srv/data'] })
  const argv = ['--write', join(homedir(), 'notes/'), '--write', '/srv/../var/log', '--read', 'package.json']
  expect(givenTo(argv, before)).toEqual({
    isolation_options: {
      write: ['~/notes', '/var/log'],
      read: ['/srv/data', join(process.cwd(), 'package.json').replace(`${homedir()}/`, '~/')],
    },
  })
})

test('a path is in one list, and --close takes it away', () => {
  const before = confinement('sandbox', { write: ['~/notes'], read: ['/srv/data'] })
  expect(givenTo(['--read', '~/notes', '--write', '/srv/data'], before)).toEqual({
    isolation_options: { write: ['/srv/data'], read: ['~/notes'] },
  })
  expect(givenTo(['--close', join(homedir(), 'notes')], before)).toEqual({
    isolation_options: { write: [], read: ['/srv/data'] },
  })
  expect(() => givenTo(['--close', '~/nothing'], before)).toThrow('It may neither change nor read ~/nothing')
  expect(() => givenTo(['--memory', '1G'], before)).toThrow("--memory must be a whole number, not '1G'")
})

test('the command that widens an isolation has what differs, quoted for a shell, and turns the first into the second', () => {
  const before = confinement('none', { read: ['~/notes', '/old'] })
  const after = confinement('sandbox', {
    write: ['~/notes', "~/my pa'per"],
    network: 'full',
    memory_mb: 64,
    pids: 9,
  })
  const command = editCommand('files', before, after)
  expect(command).toBe(
    `toolroom edit files --isolation sandbox --write ~/notes --write ~/'my pa'\\''per' --close /old --network full --memory 64 --pids 9`,
  )
  expect(editCommand('files', after, after)).toBeUndefined()
  const typed = ['--isolation', 'sandbox', '--write', '~/notes', '--write', "~/my pa'per", '--close', '/old']
  expect(givenTo([...typed, '--network', 'full', '--memory', '64', '--pids', '9'], before)).toEqual({
    isolation: 'sandbox',
    isolation_options: {
      write: ['~/notes', "~/my pa'per"],
      read: [],
      network: 'full',
      memory_mb: 64,
      pids: 9,
    },
  })
})

test.each([
  [confinement('none', {}), 'without isolation, with all your rights'],
  [
    confinement('sandbox', { write: ['~/a', '/b'], read: ['/c'] }),
    'in a sandbox: may change ~/a, /b, may read /c, no network',
  ],
  [
    confinement('container', { image: 'node:22', network: 'full' }),
    'in a container of node:22: all of the network, at most 1024 MiB and 256 processes',
  ],
])('isolation %# is described in words', (given, text) => {
  expect(isolationText(given)).toBe(text)
})
