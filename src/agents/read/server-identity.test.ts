import { expect, test } from 'vitest'
import type { Definition } from '../catalogue/server-definition.ts'
import { comparedValues } from './server-identity.ts'

const server = (env: Readonly<Record<string, string>>, args: readonly string[] = []): Definition => ({
  type: 'stdio',
  command: 'npx',
  args,
  env,
  cwd: null,
})
const secretOf = (name: string) => (name === 'moved' ? 'ghp_one' : undefined)
const values = (one: Definition, other: Definition) =>
  comparedValues(one, other, secretOf).map(({ label, own, other, secret }) => [label, own, other, secret])

test('two servers are compared value by value: secrets are only said to be the same or different, also when one was moved', () => {
  const token = 'GITHUB_TOKEN'
  expect(values(server({ REGION: 'eu', A: 'x' }), server({ REGION: 'us', A: 'x' }))).toEqual([
    ['env REGION', 'eu', 'us', null],
  ])
  expect(values(server({ REGION: 'eu' }, ['/srv/a']), server({}, ['/srv/b', '--here']))).toEqual([
    ['argument 1', '/srv/a', '/srv/b', null],
    ['env REGION', 'eu', null, null],
    ['argument 2', null, '--here', null],
  ])
  expect(values(server({ [token]: `\${secret:moved}` }), server({ [token]: 'ghp_one' }))).toEqual([
    [`env ${token}`, null, null, 'same'],
  ])
  expect(values(server({ [token]: 'ghp_two' }), server({ [token]: 'ghp_one' }))).toEqual([
    [`env ${token}`, null, null, 'different'],
  ])
  expect(values(server({}, ['--token', 'one-secret']), server({}, ['--token', 'two-secret']))).toEqual([
    ['argument 2', null, null, 'different'],
  ])
  const remote = (headers: Readonly<Record<string, string>>): Definition => ({
    type: 'http',
    url: 'https://mcp.example/mcp',
    headers,
  })
  expect(values(remote({ 'X-Team': 'a' }), remote({ 'X-Team': 'b' }))).toEqual([
    ['header X-Team', null, null, 'different'],
  ])
})
