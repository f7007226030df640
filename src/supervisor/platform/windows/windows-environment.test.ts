import { expect, test } from 'vitest'
import { merged, variable } from './windows-environment.ts'

test('the name of a variable has no case, and the last spelling counts', () => {
  expect(variable({ Path: 'ours', PATH: 'its own' }, 'path')).toBe('its own')
  expect(variable({ Path: 'ours', PATH: undefined }, 'PATH')).toBe('ours')
  expect(variable({}, 'PATH')).toBeUndefined()
})

test('a merged environment has one spelling of each name, with the last value', () => {
  expect(merged({ TEMP: 'ours', A: '1' }, { Temp: 'its own', a: undefined })).toEqual({
    Temp: 'its own',
    A: '1',
  })
})
