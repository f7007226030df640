import { expect, test } from 'vitest'
import { ownFolder } from '../../../../test/support/folder.ts'
import { accessOf, closeToOthers } from './data-folder.ts'

test('on Windows only this user and the system have access to a folder outside of the profile', () => {
  const env = { USERDOMAIN: 'OFFICE', USERNAME: 'Grace Hopper' }
  expect(accessOf('D:\\data', env)).toEqual([
    'D:\\data',
    '/inheritance:r',
    '/grant:r',
    'OFFICE\\Grace Hopper:(OI)(CI)F',
    '*S-1-5-18:(OI)(CI)F',
  ])
})

test('a folder that this user owns is closed to others without a warning', () => {
  expect(closeToOthers(ownFolder())).toBeUndefined()
})
