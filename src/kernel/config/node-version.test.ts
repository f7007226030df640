import { expect, test } from 'vitest'
import { isStartError } from '../exit-codes.ts'
import { assertNodeVersion } from './node-version.ts'

test.each(['20.19.0', '22.12.0'])(
  'on Windows, Node %s is refused with a sentence and exit code 78',
  (version) => {
    const error = errorOf(() => assertNodeVersion('win32', version))
    expect(isStartError(error) && error.exitCode).toBe(78)
    expect(isStartError(error) && error.message).toBe(
      `On Windows, Toolroom needs Node 22.13 or newer; this is Node ${version}. Install a newer Node`,
    )
  },
)

test.each([
  ['win32', '22.13.0'],
  ['win32', '24.1.0'],
  ['linux', '20.19.0'],
  ['darwin', '20.19.0'],
] as const)('on %s, Node %s is accepted', (os, version) => {
  expect(errorOf(() => assertNodeVersion(os, version))).toBeUndefined()
})

function errorOf(work: () => void): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}
