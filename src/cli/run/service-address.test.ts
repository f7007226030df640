import { expect, test } from 'vitest'
import { parseAddress } from './service-address.ts'

test.each([
  ['http://127.0.0.1:8665', 'http://127.0.0.1:8665'],
  ['https://tools.example/toolroom/mcp/', 'https://tools.example/toolroom'],
  ['http://[::1]:8665/mcp', 'http://[::1]:8665'],
])('the address %s is that of the service at %s', (given, base) => {
  expect(parseAddress(given, '--url')).toBe(base)
})

test.each([
  'http://me:password@127.0.0.1:8665',
  'http://me@127.0.0.1:8665',
  'http://:password@127.0.0.1:8665',
  'http://127.0.0.1:8665/?token=x',
  'ftp://127.0.0.1',
  'file:///etc/passwd',
  '127.0.0.1:8665',
  '',
])('the address %j is refused, and the error does not repeat it', (given) => {
  expect(() => parseAddress(given, '--url')).toThrow(
    '--url must be an http or https URL such as http://127.0.0.1:8665',
  )
})
