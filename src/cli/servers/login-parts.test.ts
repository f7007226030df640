import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { browserOpener, openInBrowser } from '../run/browser.ts'
import { findNamed } from '../run/find-named.ts'

const SERVERS = [
  { id: 'linear', name: 'Linear' },
  { id: 'linear-eu', name: 'Linear (EU)' },
  { id: 'notion', name: 'Notion' },
  { id: 'docs-2', name: 'Team Docs' },
]

test.each([
  ['linear', 'linear'],
  ['LINEAR', 'linear'],
  ['linear (eu)', 'linear-eu'],
  ['linear-', 'linear-eu'],
  ['not', 'notion'],
  ['team', 'docs-2'],
  ['docs', 'docs-2'],
])('the word %s finds the server %s', (given, id) => {
  expect(findNamed(SERVERS, given, 'HTTP server').id).toBe(id)
})

test.each([
  ['lin', 'usage', "Several HTTP servers begin with 'lin': Linear, Linear (EU)", 'Type more of the name'],
  ['notoin', 'not_found', "No HTTP server is called 'notoin'", "Did you mean 'notion'?"],
  ['zebra', 'not_found', "No HTTP server is called 'zebra'", null],
])('the word %s finds no server: %s', (given, exit, message, hint) => {
  expect(() => findNamed(SERVERS, given, 'HTTP server')).toThrow(
    expect.objectContaining({ exit, message, hint }),
  )
})

test.each<[string, NodeJS.Platform, Record<string, string>, readonly string[] | undefined]>([
  ['a desktop with X11', 'linux', { DISPLAY: ':0' }, ['xdg-open']],
  ['a desktop with Wayland', 'linux', { WAYLAND_DISPLAY: 'wayland-0' }, ['xdg-open']],
  ['no display', 'linux', {}, undefined],
  [
    'SSH with X11 forwarding',
    'linux',
    { DISPLAY: ':10', SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22' },
    undefined,
  ],
  ['a Mac', 'darwin', {}, ['open']],
  ['a Mac over SSH', 'darwin', { SSH_TTY: '/dev/ttys001' }, undefined],
  ['Windows', 'win32', {}, ['rundll32', 'url.dll,FileProtocolHandler']],
])('on %s, the browser is opened by the program of the system, or not at all', (_, os, env, opener) => {
  expect(browserOpener(os, env)).toEqual(opener)
})

test('the address of a login reaches the browser as one argument, and no shell reads it (CVE-2025-6514)', async () => {
  const folder = ownFolder()
  const [program, seen] = [join(folder, 'open'), join(folder, 'seen')]
  writeFileSync(program, `#!/bin/sh\nprintf '%s\\n' "$#" "$@" > ${seen}.part && mv ${seen}.part ${seen}\n`)
  chmodSync(program, 0o755)
  const address = `https://issuer.example/authorize?a=$(touch${folder}/pwned)&b=\`id\`;c|d'"`
  expect(await openInBrowser([program, 'first'], address)).toBe(true)
  await expect
    .poll(() => readFileSync(seen, 'utf8').split('\n'))
    .toEqual(['2', 'first', new URL(address).href, ''])
  for (const other of ['javascript:alert(1)', 'file:///etc/passwd', 'calculator:'])
    expect(await openInBrowser([program], other)).toBe(false)
  expect(await openInBrowser([join(folder, 'missing')], address)).toBe(false)
})
