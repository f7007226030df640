import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../../test/support/folder.ts'
import { mayMount } from '../../test/support/small-disk.ts'
import { openTestService } from '../../test/support/test-service.ts'
import { EXIT, LASTING_EXITS, StartError } from '../kernel/exit-codes.ts'
import { startRefused } from './start-refused.ts'

/** A home in which Toolroom has run. */
async function usedHome() {
  const home = ownFolder()
  const data = join(home, 'data')
  const service = await openTestService({ home, env: { AUTH_TOKEN: '' } })
  await service.close()
  return { home, data }
}

/** What the terminal shows, and the exit code. */
async function refusal(home: string, data: string) {
  const error = await openTestService({ home, env: { AUTH_TOKEN: '' } }).then(
    () => expect.unreachable('it has started'),
    (error: unknown) => startRefused(error, data),
  )
  if (!(error instanceof StartError)) throw error
  return error
}

const asFolder = (file: string) => {
  rmSync(file, { force: true })
  mkdirSync(file)
}
const asNonsense = (file: string) => writeFileSync(file, 'no database '.repeat(2000))

test.each<[string, string, (file: string) => void, number, RegExp]>([
  ['a token that cannot be read', 'token', asFolder, EXIT.configuration, /token cannot be read .* delete it/],
  ['a damaged lock', 'lock.db', asNonsense, EXIT.store_damaged, /lock\.db is damaged; delete it while/],
  ['a lock that is a folder', 'lock.db', asFolder, EXIT.configuration, /a database in .* cannot be written/],
  [
    'a database that is a folder',
    'toolroom.db',
    asFolder,
    EXIT.configuration,
    /toolroom\.db.*it is a folder/,
  ],
  ['a damaged database', 'toolroom.db', asNonsense, EXIT.store_damaged, /was set aside as .*--restore/],
])(
  '%s refuses the start in one line that says what to do, and no service manager repeats it',
  async (_, file, damage, code, line) => {
    const { home, data } = await usedHome()
    damage(join(data, file))
    const { message, exitCode } = await refusal(home, data)
    expect(message).toMatch(line)
    expect(message).not.toContain('\n')
    expect(exitCode).toBe(code)
    expect(LASTING_EXITS).toContain(exitCode)
  },
)

test.runIf(mayMount)(
  'a read-only data folder refuses the start, and its database is not set aside',
  async () => {
    const { home, data } = await usedHome()
    const mount = (...args: string[]) => execFileSync('mount', args)
    mount('--bind', data, data)
    const unmount = () => void execFileSync('umount', ['-l', data])
    onTestFinished(unmount)
    mount('-o', 'remount,ro,bind', data)
    const { message, exitCode } = await refusal(home, data)
    expect(message).toMatch(/its file system is read-only/)
    expect(exitCode).toBe(EXIT.configuration)
    expect(readdirSync(data).filter((name) => name.includes('damaged'))).toEqual([])
  },
)

test('an error that is none of the file system or of a database stays what it is', () => {
  const error = new TypeError('a mistake')
  expect(startRefused(error, '/data')).toBe(error)
})
