import { describe, expect, test } from 'vitest'
import { MAX_RESOLVED, NoticeBoard, RESOLVE_AFTER_MS } from './notice-board.ts'
import * as causes from './notice-causes.ts'
import { type Cause, KINDS, type Notice } from './notices.schema.ts'

const server = { id: 'postgres', name: 'Postgres' }
const trouble = (kind: Parameters<typeof causes.serverTrouble>[1]['kind'], hint: string | null = null) => ({
  kind,
  what: 'crashed',
  message: 'The server exited with code 1: connect ECONNREFUSED',
  hint,
})
const crash = causes.serverTrouble(server, trouble('crashed'))
const changed = causes.toolsChanged(server, { added: ['a'], removed: [], changed: ['b'] })

/** A board whose clock stands still until it is moved. */
function openBoard(stored: readonly Notice[] = []) {
  let time = 1_000_000
  const published: Notice[] = []
  const board = new NoticeBoard(
    {
      now: () => time,
      clock: () => time,
      redact: (text) => text.replaceAll('hunter2', '***'),
      onChange: (notice) => published.push(notice),
    },
    stored,
  )
  const wait = (ms: number) => {
    time += ms
    return board.resolve()
  }
  return {
    board,
    published,
    wait,
    servers: (...present: Cause[]) => board.exist(causes.SERVER_KINDS, present),
  }
}

describe('notice board', () => {
  test('a crash is still open when the server is back after 20 ms, and resolves itself when it has been back for 10 s', () => {
    const { board, published, wait, servers } = openBoard()
    board.happened(crash)
    wait(20)
    servers()
    expect(board.open).toMatchObject([{ kind: 'server_crashed', count: 1, resolved_at: null }])
    expect(board.open.map((notice) => board.isPresent(notice))).toEqual([false])
    wait(RESOLVE_AFTER_MS - 1)
    expect(board.open).toHaveLength(1)
    wait(1)
    expect(board.open).toEqual([])
    expect(board.all).toMatchObject([{ id: 1, resolved_at: 1_000_000 + 20 + RESOLVE_AFTER_MS }])
    expect(published.map(({ resolved_at }) => resolved_at !== null)).toEqual([false, true])
  })

  test('a repeated cause raises the count of the open notice, starts the 10 s again, and must be seen again', () => {
    const { board, wait, servers } = openBoard()
    board.happened(crash)
    board.see(1)
    servers()
    for (let n = 0; n < 9; n += 1) {
      wait(9_000)
      board.happened({ ...crash, evidence: `crash ${n}` })
      servers()
    }
    expect(board.all).toMatchObject([{ id: 1, count: 10, seen_at: null, evidence: 'crash 8' }])
    wait(RESOLVE_AFTER_MS)
    board.happened(crash)
    expect(board.all).toMatchObject([
      { id: 2, count: 1, resolved_at: null },
      { id: 1, count: 10 },
    ])
  })

  test('a cause that continues is neither counted nor published again, and one that is not settled stays open', () => {
    const { board, published, wait, servers } = openBoard()
    servers(crash)
    wait(60_000)
    servers({ ...crash, evidence: 'a line more' })
    board.exist(causes.SERVER_KINDS, [], ({ server_id }) => server_id === 'postgres')
    wait(60_000)
    expect(board.open).toMatchObject([{ count: 1, evidence: 'a line more' }])
    expect(published).toHaveLength(1)
    servers()
    wait(1000)
    servers(crash)
    expect(board.open).toMatchObject([{ id: 1, count: 2 }])
    expect(board.open.map((notice) => board.isPresent(notice))).toEqual([true])
  })

  test('a notice about an event stays open until a person has seen it, also over a restart', () => {
    const { board, wait } = openBoard()
    board.happened(changed)
    wait(3_600_000)
    const again = openBoard(board.all)
    again.wait(3_600_000)
    expect(again.board.open).toMatchObject([{ id: 1, kind: 'tools_changed' }])
    const seen = again.board.see(1)
    expect(again.board.see(1)).toEqual(seen)
    const last = openBoard(again.board.all)
    last.wait(RESOLVE_AFTER_MS)
    expect(last.board.open).toEqual([])
    last.board.happened(changed)
    expect(last.board.open).toMatchObject([{ id: 2 }])
  })

  test('the open notice of an earlier run stays open while its cause exists, without counting it again', () => {
    const { board } = openBoard()
    board.happened(crash)
    const { board: later, servers, wait } = openBoard(board.all)
    servers(crash)
    wait(60_000)
    expect(later.open).toMatchObject([{ id: 1, count: 1 }])
  })

  test(`secrets in texts and evidence are masked, and only ${MAX_RESOLVED} resolved notices are kept`, () => {
    const { board, wait, servers } = openBoard()
    servers(
      causes.serverTrouble(server, { ...trouble('failed', 'Use hunter2'), message: 'hunter2 is wrong' }),
    )
    expect(JSON.stringify(board.open)).not.toContain('hunter2')
    const forgotten: number[] = []
    for (let n = 0; n < MAX_RESOLVED + 5; n += 1) {
      servers()
      forgotten.push(...wait(RESOLVE_AFTER_MS))
      servers(crash)
    }
    expect(board.all).toHaveLength(MAX_RESOLVED + 1)
    expect(forgotten).toEqual([1, 2, 3, 4, 5])
  })

  test('notices about a deleted server are resolved at once', () => {
    const { board } = openBoard()
    board.happened(crash)
    board.happened(changed)
    board.forgetServer('postgres')
    expect(board.open).toEqual([])
  })
})

describe('texts', () => {
  const orphan = {
    id: '1-1',
    pid: 7,
    command: 'npx foo-mcp',
    owner: 'me',
    age_s: 9,
    rss_bytes: 6e8,
    processes: 2,
  }
  const file = {
    agent_type: 'zed',
    agent_name: 'Zed',
    path: '/home/me/.zed',
    edited: ['a'],
    unreadable: null,
  }
  const all: Cause[] = [
    ...(['crashed', 'failed', 'degraded', 'login_needed', 'not_allowed'] as const).flatMap((kind) => [
      causes.serverTrouble(server, trouble(kind)),
      causes.serverTrouble(server, trouble(kind, 'Set DATABASE_URL')),
    ]),
    changed,
    causes.toolsHeld(server, ['a']),
    causes.toolsHeld(
      server,
      Array.from({ length: 12 }, (_, n) => `tool_${n}`),
    ),
    causes.fileTrouble(file),
    causes.fileTrouble({ ...file, unreadable: 'line 41, column 7: a comma is missing' }),
    ...causes.packageCauses({
      name: '@scope/mcp',
      version: '1.0.0',
      update: '1.1.0',
      deprecated: 'Use another',
    }),
    ...causes.leakedProcesses([orphan]),
    causes.diskFull(),
    causes.logLinesLost('the disk is full'),
    causes.weakToken('AUTH_TOKEN is weak: use 32 random bytes'),
    causes.settingsWarning('Reads are public; set PROTECT_READS=true to require the token'),
  ]

  test('there is a text for every kind', () => {
    expect([...new Set(all.map(({ kind }) => kind))].sort()).toEqual([...KINDS].sort())
  })

  /** The pages of the dashboard: eight, and one for each server and agent. */
  const PAGE =
    /^\/(?:(?:servers|agents)(?:\/[a-z0-9._-]+(?:\?(?:tab=[a-z]+|drift=1))?)?|playground|traffic|logs|packages(?:\?tab=installed)?|settings)?$/

  test.each(all.map((cause) => [cause.kind, cause.text, cause] as const))(
    '%s says what happened, then what to do, and leads to a page of the dashboard: %s',
    (_, text, { evidence, action }) => {
      expect(text).toMatch(/^\S.{10,}(?:\. |: |; )\S.{5,}[^.]$/)
      expect(text.length).toBeLessThan(200)
      expect(action.route).toMatch(PAGE)
      expect(text).not.toMatch(/\b(?:GET|PUT|POST|PATCH|DELETE) \//) // words for people, not for the API
      expect(action.label).toMatch(/^[A-Z][a-z]+(?: [a-z]+){0,3}$/)
      expect(evidence ?? 'none').not.toBe('')
      expect(text).not.toMatch(/whoever|somebody|nobody|oops|please|sorry/i)
    },
  )

  test('a few leaked processes are no reason for a notice', () => {
    expect(causes.leakedProcesses([{ ...orphan, rss_bytes: 1e8 }])).toEqual([])
    expect(causes.leakedProcesses([])).toEqual([])
    expect(causes.leakedProcesses([{ ...orphan, rss_bytes: 1e6, processes: 5 }])).toHaveLength(1)
  })
})
