import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SETTING_NAMES } from '../../src/kernel/config/settings.ts'
import { phasesOf } from '../../web/src/data/job-phases.ts'
import type { Server } from '../../web/src/data/servers.ts'
import {
  bytes,
  count,
  duration,
  long,
  percent,
  share,
  tokens,
  withTilde,
} from '../../web/src/format/format.ts'
import { texts, translate } from '../../web/src/i18n/texts.ts'
import { largest, loadOf, sortColumns } from '../../web/src/pages/agents/columns.ts'
import type { Cell, Column } from '../../web/src/pages/agents/grid-model.ts'
import { tidied } from '../../web/src/pages/home/tidied-events.ts'
import { withoutSecrets } from '../../web/src/pages/server/config/changes.ts'
import { isPlaced } from '../../web/src/pages/settings/sections.ts'
import { groupsOf, rowsOf, scaleOf } from '../../web/src/pages/traffic/groups.ts'
import { linesOf } from '../../web/src/parts/content/diff-lines.ts'
import { SHOTS } from './support/shots.ts'

describe('figures are shown the same everywhere (docs/checks.md, every page)', () => {
  test.each([
    [duration(null), '–'],
    [duration(0.4), '0.4 ms'],
    [duration(9.2), '9 ms'],
    [duration(999.6), '1.0 s'],
    [duration(1300), '1.3 s'],
    [duration(124_000), '2 m 04 s'],
    [long(7300), '2 h'],
    [count(1284), '1\u202f284'],
    [count(1_234_567), '1\u202f234\u202f567'],
    [tokens(450), '0.5k'],
    [tokens(11_240), '11.2k'],
    [tokens(34_400), '34k'],
    [bytes(84_000_000), '84 MB'],
    [bytes(14_200), '14.2 kB'],
    [share(0), '0 %'],
    [share(0.012), '1.2 %'],
    [percent(31.4), '31 %'],
    [withTilde('/home/me/a: bad, see /home/me', '/home/me'), '~/a: bad, see ~'],
    [withTilde('/home/meg/a', '/home/me'), '/home/meg/a'],
    [withTilde('/home/me/a', undefined), '/home/me/a'],
  ])('%s', (shown, expected) => {
    expect(shown).toBe(expected)
  })
})

describe('texts', () => {
  const t = texts('test', {
    plain: 'Nothing needs you.',
    named: 'Restarting {name}',
    things: { one: '{count} thing', other: '{count} things' },
  })

  test('a text is found by its key, filled in, and chosen by its number', () => {
    expect(t('plain')).toBe('Nothing needs you.')
    expect(t('named', { name: 'a {count} $& b' })).toBe('Restarting a {count} $& b')
    expect([1, 2].map((each) => t('things', { count: each }))).toEqual(['1 thing', '2 things'])
    expect(t.rich('named', { name: 7 })).toEqual(['Restarting ', 7, ''])
  })

  test('a translation replaces texts, and what it does not have stays English', () => {
    translate('test', { named: '{name} startet neu' })
    expect(t('named', { name: 'echo' })).toBe('echo startet neu')
    expect(t('plain')).toBe('Nothing needs you.')
  })
})

test('the lines of a diff have the number of their own side, and a gap between two places', () => {
  const diff =
    '--- a\n+++ b\n@@ -9,3 +9,3 @@\n {\n-  "a": 1\n+  "a": 2,\n+  "b": 3\n@@ -40 +41 @@\n-x\n\\ No newline at end of file\n'
  expect(linesOf(diff).map(({ kind, number, text }) => `${kind} ${number} ${text}`)).toEqual([
    'same 9 {',
    'removed 10   "a": 1',
    'added 10   "a": 2,',
    'added 11   "b": 3',
    'gap null ',
    'removed 40 x',
  ])
  expect(linesOf('')).toEqual([])
})

test('a job shows the phases that began and those to come; a failed one where it failed', () => {
  const at = '2026-11-16T08:00:00.000Z'
  const phase = (name: string, finished_at: string | null) => ({
    name,
    started_at: at,
    finished_at,
    detail: null,
  })
  const states = (job: Parameters<typeof phasesOf>[0]) => phasesOf(job).map(({ state }) => state)
  const running = { kind: 'package_install', status: 'running' as const }
  expect(states({ ...running, phases: [phase('resolving', at), phase('installing', null)] })).toEqual([
    'done',
    'now',
    'later',
    'later',
  ])
  const failed = { kind: 'package_update', status: 'failed' as const }
  expect(
    states({ ...failed, phases: [phase('resolving', at), phase('installing', at)] }).slice(0, 3),
  ).toEqual(['done', 'failed', 'later'])
})

test('every setting of the service has a place on the page Settings', () => {
  expect(SETTING_NAMES.filter((name) => !isPlaced(name))).toEqual([])
})

describe('a draft that is kept over a reload', () => {
  const stored = {
    name: 'a',
    env: { KEY: '***', MODE: '***' },
    args: ['-y', 'x'],
    url: 'https://a.example/mcp',
  }
  const kept = (changes: Record<string, unknown>) => withoutSecrets(stored, changes)

  test('has no value of a variable but references, and says what it lacks', () => {
    const env = { KEY: 'canary', MODE: '***', NEW: 'canary', REF: `$\{secret:A}`, EMPTY: '' }
    expect(kept({ name: 'b', env })).toEqual({
      changes: { name: 'b', env: { KEY: '***', MODE: '***', REF: `$\{secret:A}`, EMPTY: '' } },
      left: ['KEY', 'NEW'],
    })
    expect(kept({ env: { MODE: '***' } })).toEqual({ changes: { env: { MODE: '***' } }, left: [] })
    expect(kept({ env: { KEY: 'canary', MODE: '***' } })).toEqual({ changes: {}, left: ['KEY'] })
  })

  test.each([
    ['args', ['-y', '@scope/server-notes', '/home/me/notes'], true],
    ['args', ['--api-key=abc'], false],
    ['args', ['ghp_0123456789abcdefABCDEF'], false],
    ['command', '/usr/bin/node', true],
    ['url', 'https://b.example/mcp', true],
    ['url', 'https://b.example/mcp?t=1', false],
    ['oauth', { client_id: 'x' }, false],
    ['tags', ['work'], true],
  ])('%s %j is kept: %s', (field, value, isKept) => {
    expect(kept({ [field]: value })).toEqual(
      isKept ? { changes: { [field]: value }, left: [] } : { changes: {}, left: [field] },
    )
  })
})

describe('the scale of Traffic', () => {
  test('all sessions in view have one scale, on which the longest fits: as many milliseconds in each part of the axis', () => {
    const call = (id: number, session_id: string, started: number, duration_ms: number) => ({
      ...{ id, session_id, agent_type: 'cursor', started_at: new Date(started).toISOString(), duration_ms },
    })
    const calls = [call(1, 'a', 0, 12), call(2, 'b', 100, 700), call(3, 'b', 900, 1100)]
    const rows = rowsOf(groupsOf(calls as never), new Set())
    expect(rows.map(({ kind }) => kind)).toEqual(['group', 'call', 'group', 'call', 'call'])
    expect(scaleOf(rows)).toBe(500) // 1.9 s in four parts
    expect(scaleOf(rows.slice(0, 2))).toBe(5)
    expect(scaleOf([])).toBe(1)
  })
})

describe('the grid of agents', () => {
  const column = (
    agent_type: string,
    server_count: number,
    via = 'direct',
    unreadable: string | null = null,
  ) => ({ agent: { agent_type, server_count }, via, unreadable }) as Column
  const types = (columns: readonly Column[]) => columns.map(({ agent }) => agent.agent_type)

  test('a write or a connection moves no column, and one that cannot be read comes last', () => {
    const bad = column('a', 4, 'direct', 'line 3')
    const before = sortColumns([bad, column('b', 0), column('c', 3)])
    const after = sortColumns([bad, column('b', 9, 'gateway'), column('c', 0)])
    expect(types(before)).toEqual(['b', 'c', 'a'])
    expect(types(after)).toEqual(types(before))
    expect([largest(before, 2), largest(after, 1)]).toEqual([['c', 'b'], ['b']])
  })

  test('an agent whose servers were never started has tools that are not known, not none', () => {
    const loadWith = (...counts: (number | null)[]) =>
      loadOf(
        column('a', 2),
        counts.map((tool_count) => ({ tool_count, tool_tokens: tool_count }) as Server),
        () => ({ state: 'on' }) as Cell,
      )
    expect(loadWith(null, null)).toMatchObject({ tools: 0, isUnknown: true })
    expect(loadWith(0, 0)).toMatchObject({ tools: 0, isUnknown: false })
    expect(loadWith(4, null)).toMatchObject({ tools: 4, isUnknown: false })
    expect(loadWith()).toMatchObject({ tools: 0, isUnknown: false })
  })
})

test('the list of what happened says of no server that it went to sleep if it did not run', () => {
  const idle = (id: string, server_id: string, cause: string) => ({
    ...{ id, ts: '2026-01-01T00:00:00.000Z', kind: 'server_status', server_id, text: '' },
    data: { status: 'idle', cause },
  })
  const events = [idle('1', 'added', 'starts on demand'), idle('2', 'unused', 'no calls for a while')]
  expect(tidied(events as never).map(({ event }) => event.server_id)).toEqual(['unused'])
})

test('each picture in docs/images is on a page, and npm run screenshots takes it', () => {
  const pages = readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name))
  const shown = ['README.md', ...pages].flatMap((page) => [
    ...readFileSync(page, 'utf8').matchAll(/images\/([\w-]+\.webp)/g),
  ])
  const names = [...new Set(shown.map(([, name]) => name))].sort()
  expect(readdirSync('docs/images').sort()).toEqual(names)
  expect(SHOTS.flatMap(({ name }) => [`${name}-dark.webp`, `${name}-light.webp`]).sort()).toEqual(names)
})
