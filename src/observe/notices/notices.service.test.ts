import { expect, test } from 'vitest'
import { AppError } from '../../kernel/errors.ts'
import { FactBus } from '../../kernel/fact-bus.ts'
import type { Upstream } from '../../servers/shared/upstream.ts'
import { MAX_RESOLVED } from './notice-board.ts'
import { packageCauses } from './notice-causes.ts'
import type { Mutes, Notice } from './notices.schema.ts'
import { Notices } from './notices.service.ts'

const OLD = {
  name: 'old-mcp',
  version: '1.0.0',
  update: null,
  deprecated: 'use new-mcp, not secret-in-a-reason',
}

const trouble = { kind: 'failed', what: 'failed', message: 'exited with code 1', hint: null }
/** Only what a notice looks at. */
const BROKEN = ['postgres', 'github'].map((id) => ({ id, name: id, trouble }) as unknown as Upstream)

/** Notices with one cause, a deprecated package, and a store that keeps what it is given unless it fails. */
async function openNotices(stored: readonly Notice[] = [], muted: Partial<Mutes> = {}) {
  const state = { failure: undefined as Error | undefined }
  const saved: { changed: readonly Notice[]; forgotten: readonly number[] }[] = []
  const errors: unknown[] = []
  const notices = await Notices.open({
    store: {
      all: async () => stored,
      save: async (changed, forgotten) => {
        if (state.failure) throw state.failure
        saved.push({ changed, forgotten })
      },
      mutes: () => ({ kinds: [], servers: [], ...muted }),
      setMutes: async () => {},
    },
    facts: new FactBus((error) => errors.push(error)),
    upstreams: { all: () => (muted.servers ? BROKEN : []), get: () => undefined },
    isComplete: () => true,
    heldTools: undefined,
    agentFiles: () => [],
    packages: () => [OLD],
    orphans: async () => [],
    diskIsFull: () => false,
    logFailure: () => undefined,
    settings: () => [],
    redact: (text) => text,
    now: () => 1_000_000,
    clock: () => 1_000_000,
    onError: (error) => errors.push(error),
  })
  return { notices, state, saved, errors }
}

/** Resolved notices, one more than are kept. */
function tooManyResolved(): Notice[] {
  const [cause = expect.unreachable()] = packageCauses(OLD)
  const times = { at: 1, count: 1, seen_at: null, resolved_at: 2 }
  return Array.from({ length: MAX_RESOLVED + 1 }, (_, n) => ({ ...cause, ...times, id: n + 1 }))
}

test('notices that could not be saved are saved with the next ones, and so is what is not kept any longer', async () => {
  const { notices, state, saved, errors } = await openNotices(tooManyResolved())
  state.failure = new Error('the store failed')
  const [opened = expect.unreachable()] = notices.list({}, true).items
  await expect.poll(() => errors).toEqual([state.failure])
  expect(saved).toEqual([])
  state.failure = undefined
  await notices.close()
  expect(saved).toEqual([
    { changed: [expect.objectContaining({ id: opened.id, kind: 'package_deprecated' })], forgotten: [1] },
  ])
})

test('a full disk is no error of its own in the log: it is a notice', async () => {
  const { notices, state, saved, errors } = await openNotices()
  state.failure = new AppError('disk_full', 'The disk is full')
  notices.list({}, true)
  await notices.close()
  expect([saved, errors]).toEqual([[], []])
})

test('the evidence of a notice without a server is shown with the token only', async () => {
  const { notices } = await openNotices()
  expect(notices.list({}, true).items).toMatchObject([{ server_id: null, evidence: OLD.deprecated }])
  expect(JSON.stringify(notices.list({}, false))).not.toContain('secret-in-a-reason')
  await notices.close()
})

test('the notices of a muted server are recorded, and neither open nor in the health check; those of others are', async () => {
  const { notices } = await openNotices([], { servers: ['postgres'] })
  const serversIn = (state: 'open' | 'all') =>
    notices.list({ state }, true).items.flatMap(({ server_id }) => server_id ?? [])
  expect([serversIn('open'), serversIn('all')]).toEqual([['github'], ['github', 'postgres']])
  expect(notices.health()).toMatchObject({ isDegraded: true, open: [{ kind: 'package_deprecated' }, {}] })
  await notices.close()
  const { notices: quiet } = await openNotices([], { servers: ['postgres', 'github'] })
  expect(quiet.health()).toMatchObject({ isDegraded: false, open: [{ kind: 'package_deprecated' }] })
  await quiet.close()
})
