import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { thisPlatform } from '../platform/this-platform.ts'
import { programFinder, type StartFailure, startChild } from './start-child.ts'

const find = programFinder(thisPlatform)
const NOTHING = { command: 'no-such-program', args: [], env: {}, cwd: null }

/** Why a start failed whose process the system refuses with this code. */
async function refusedWith(code: string): Promise<StartFailure> {
  const definition = { ...NOTHING, command: process.execPath }
  const start = () => Promise.reject(Object.assign(new Error(`spawn ${code}`), { code }))
  return startChild(definition, 'MARK=1', { groups: { start }, findProgram: find }).then(
    () => expect.unreachable(),
    (failure: StartFailure) => failure,
  )
}

test.each(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM'])(
  'a start that the system refuses with %s is tried again, because the shortage passes',
  async (code) => {
    expect(await refusedWith(code)).toMatchObject({ retry: true, error: { code: 'out_of_resources' } })
  },
)

test.each(['E2BIG', 'EACCES', 'ENOEXEC'])(
  'a start that the system refuses with %s is not tried again: a person has to change something',
  async (code) => {
    const { retry, error } = await refusedWith(code)
    expect([retry, error.code]).toEqual([false, 'spawn_failed'])
    expect(error.message).toContain(code)
  },
)

test('where a program was searched is said without the folders of its environment, whose values may be secrets', () => {
  const own = join(ownFolder(), 'a-value-of-env')
  const PATH = [own, process.env.PATH].join(process.platform === 'win32' ? ';' : ':')
  const found = find({ ...NOTHING, command: join(own, 'bin', 'server'), env: { PATH } })
  expect(found.ok).toBe(false)
  if (found.ok) return
  expect(found.message + found.hint).not.toContain('a-value-of-env')
  expect(found.message).toContain('***')
  const shown = find({ ...NOTHING, command: join(ownFolder(), 'of-the-command'), env: {} })
  expect(shown.ok ? '' : shown.message).toContain('of-the-command')
})
