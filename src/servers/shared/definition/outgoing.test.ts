/* biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written like this */

import { describe, expect, test } from 'vitest'
import {
  allowedIn,
  allowsAll,
  allowsOf,
  isHeld,
  keysAfterEdit,
  keysAfterImport,
  keysOf,
  outgoingIn,
  type Receiver,
} from './outgoing.ts'

const none = () => false
const http = (url: string, header = '${env:KEY}'): Receiver => ({ url, headers: { X: header } })
const stdio = (more: Partial<Receiver> = {}): Receiver => ({
  command: 'npx',
  args: ['-y', 'notes-mcp'],
  env: { KEY: '${env:KEY}' },
  cwd: null,
  isolation: 'none',
  ...more,
})
const allowed = <T extends Receiver>(definition: T) => ({
  ...definition,
  outgoing_allowed: keysOf(definition, allowsAll),
})

describe('what a server gets, and where it goes', () => {
  test.each([
    ['https://mcp.example.com/mcp', 'mcp.example.com'],
    ['HTTPS://MCP.Example.com:443/mcp', 'mcp.example.com'],
    ['http://mcp.example.com:8080?k=1', 'mcp.example.com:8080'],
    ['https://bücher.example/mcp', 'xn--bcher-kva.example'],
    ['https://${env:HOST:-evil.example}/mcp', '${env:HOST:-evil.example}'],
    ['https://good.example.${env:ZONE}/mcp', 'good.example.${env:ZONE}'],
    ['${env:BASE:-https://evil.example}/good.example', '${env:BASE:-https://evil.example}'],
    ['https://evil.example#good.example', 'evil.example'],
  ])('the header of %s goes to %s: a default that may decide is shown', (url, host) => {
    expect(outgoingIn(http(url))[0]).toEqual({
      reference: '${env:KEY}',
      to: 'header X',
      host,
      program: null,
      allowed: false,
    })
  })

  test('a program is shown with all its words, so that two that differ look different', () => {
    const shown = (args: string[]) => outgoingIn(stdio({ args }))[0]?.program
    expect(shown(['-y', 'notes-mcp'])).toBe('npx -y notes-mcp')
    expect(shown(['-y notes-mcp'])).toBe('npx "-y notes-mcp"')
    expect(shown(['\u202egpj.exe', 'a\nb'])).toBe('npx "\\u{202e}gpj.exe" "a\\nb"')
  })

  test('a program gets the value, whatever URL stands beside it: nothing binds it to that host', () => {
    const args = ['mcp-remote', 'https://mcp.example.com/sse', '--header', 'Authorization: Bearer ${env:KEY}']
    expect(outgoingIn(stdio({ args, env: {} }))).toMatchObject([
      { to: 'argument 4', host: null, program: expect.stringContaining('npx mcp-remote https://mcp') },
    ])
  })
})

describe('permission', () => {
  test.each<[string, Receiver, Receiver]>([
    ['another host', http('https://one.example/a'), http('https://two.example/a')],
    ['another port', http('https://one.example/a'), http('https://one.example:8443/a')],
    ['plain http', http('https://one.example/a'), http('http://one.example/a')],
    ['a host that a variable decides', http('https://one.example/a'), http('https://${env:KEY}/a')],
    ['another default', http('https://${env:H:-a.example}/'), http('https://${env:H:-b.example}/')],
    [
      'another place',
      http('https://one.example/a'),
      { url: 'https://one.example/a', headers: { Y: '${env:KEY}' } },
    ],
    ['another variable', http('https://one.example/a'), http('https://one.example/a', '${env:OTHER}')],
    ['another program', stdio(), stdio({ command: 'node' })],
    ['another package', stdio(), stdio({ args: ['-y', 'evil-mcp'] })],
    ['another variable beside it', stdio(), stdio({ env: { KEY: '${env:KEY}', NODE_OPTIONS: '-r ./evil' } })],
    ['another folder', stdio(), stdio({ cwd: '/tmp' })],
    ['less isolation', stdio({ isolation: 'sandbox', isolation_options: {} }), stdio()],
  ])(
    'of an import is not carried over to %s, and comes back with what it was given for',
    (_, before, after) => {
      const server = allowed(before)
      const moved = { ...after, outgoing_allowed: keysAfterImport(server, after, none) }
      expect(isHeld(server)).toBe(false)
      expect(isHeld(moved)).toBe(true)
      const undone = { ...before, outgoing_allowed: keysAfterImport(moved, before, allowedIn(server)) }
      expect(isHeld(undone)).toBe(false)
    },
  )

  test('of an import stays on the same host, also in another path of it', () => {
    const after = http('https://one.example/v2?k=1')
    const server = allowed(http('https://one.example/a'))
    expect(isHeld({ ...after, outgoing_allowed: keysAfterImport(server, after, none) })).toBe(false)
  })

  test("of a person's own edit stays, and what the edit does not write is not allowed with it", () => {
    const after = stdio({ command: 'node', env: { KEY: '${env:KEY}', NEW: '${secret:NEW}' } })
    const edited = (before: Parameters<typeof keysAfterEdit>[0]) => ({
      ...after,
      outgoing_allowed: keysAfterEdit(before, after, none),
    })
    expect(isHeld(edited(allowed(stdio())))).toBe(false)
    const held = edited({ ...stdio(), outgoing_allowed: [] })
    expect(outgoingIn(after).map(({ to }) => to)).toEqual(['env KEY', 'env NEW'])
    expect(held.outgoing_allowed).toHaveLength(1)
    expect(isHeld(held)).toBe(true)
  })

  test('counts for a listed value only', () => {
    const definition = http('https://one.example/a')
    const [{ allowed: _, ...item }] = outgoingIn(definition) as [ReturnType<typeof outgoingIn>[number]]
    expect(outgoingIn(definition, [item])).toMatchObject([{ allowed: true }])
    expect(keysOf(definition, allowsOf(definition, [{ ...item, host: 'two.example' }]))).toEqual([])
  })
})
