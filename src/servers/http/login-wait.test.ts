import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Cancellation } from '../../kernel/light-abort-controller.ts'
import type { CallOptions, OnServerRequest } from '../../mcp/protocol/call-options.ts'
import { RawJson } from '../../mcp/protocol/raw-json.ts'
import { awaitLogin, isLoginMissing, type LoginPort } from './login-wait.ts'

const server = { id: 'linear', name: 'Linear' }
const start_url = 'http://127.0.0.1:8665/oauth/start/ticket'
const NEEDED = {
  code: 'login_needed',
  status: 409,
  message: `Linear needs a login: open ${start_url}, then call again`,
  hint: 'Or run: toolroom login linear',
  members: { start_url },
}

/** Logins that the test ends by hand. */
function openLogins() {
  const logins = {
    waits: 0,
    signal: undefined as AbortSignal | undefined,
    end: (_: boolean) => {},
    needsLogin: (id: string) => id === 'linear',
    ticketOf: () => ({ start_url }),
    stateOf: () => ({ error: null }),
    whenLoggedIn: (_: string, timeoutMs: number, signal?: AbortSignal) => {
      expect(timeoutMs).toBe(300_000)
      logins.waits += 1
      logins.signal = signal
      return new Promise<boolean>((resolve) => {
        logins.end = resolve
        signal?.addEventListener('abort', () => resolve(false))
      })
    },
  }
  return logins satisfies LoginPort
}

const outcomeOf = (waiting: Promise<void>) =>
  waiting.then(
    () => 'logged in',
    ({ code, status, message, hint, members }) => ({ code, status, message, hint, members }),
  )

const answering =
  (answer: unknown): OnServerRequest =>
  async () =>
    answer

test('a client with URL elicitation is asked with the page of Toolroom, and its call waits for the login (docs/login.md)', async () => {
  const logins = openLogins()
  const asked: unknown[] = []
  const onServerRequest: OnServerRequest = async (method, params) => {
    asked.push({ method, params })
    return new RawJson('{"action":"accept"}', { action: 'accept' })
  }
  const outcome = outcomeOf(awaitLogin(server, logins, { onServerRequest }))
  await sleep(20)
  expect(asked).toEqual([
    {
      method: 'elicitation/create',
      params: {
        mode: 'url',
        elicitationId: expect.stringMatching(/^[\w-]{36}$/),
        url: start_url,
        message: 'Linear needs a login. Open this page to log in. The call then continues',
      },
    },
  ])
  logins.end(true)
  expect(await outcome).toBe('logged in')
})

test('a call continues after a login that began elsewhere, even if its client never answers', async () => {
  const logins = openLogins()
  const outcome = outcomeOf(awaitLogin(server, logins, { onServerRequest: () => new Promise(() => {}) }))
  await sleep(20)
  logins.end(true)
  expect(await outcome).toBe('logged in')
})

test.each<[string, CallOptions]>([
  ['cannot be asked', {}],
  ['declines', { onServerRequest: answering({ action: 'decline' }) }],
  ['cancels', { onServerRequest: answering({ action: 'cancel' }) }],
  ['answers without an action', { onServerRequest: answering(null) }],
  [
    'has not declared it',
    { onServerRequest: () => Promise.reject({ code: -32601, message: 'not supported' }) },
  ],
])('a client that %s gets a sentence with the link', async (_, options) => {
  const logins = openLogins()
  expect(await outcomeOf(awaitLogin(server, logins, options))).toEqual(NEEDED)
  expect(logins.signal?.aborted ?? true).toBe(true)
})

test('a call that is not followed by a login in time ends with the link, and a call that is cancelled waits no longer', async () => {
  const onServerRequest = answering({ action: 'accept' })
  const late = openLogins()
  const lateOutcome = outcomeOf(awaitLogin(server, late, { onServerRequest }))
  await sleep(20)
  late.end(false)
  expect(await lateOutcome).toEqual(NEEDED)

  const logins = openLogins()
  const signal = new Cancellation()
  const outcome = outcomeOf(awaitLogin(server, logins, { onServerRequest, signal }))
  await sleep(20)
  signal.abort()
  expect(await outcome).toMatchObject({ message: 'The call was cancelled while it waited for a login' })
  expect(logins.signal?.aborted).toBe(true)
})

test.each([
  ['auth_required', 'linear', true],
  ['forbidden', 'linear', true],
  ['auth_required', 'other', false],
  ['http_error', 'linear', false],
])('a request that failed with %s at %s lacks a login: %s', (code, id, expected) => {
  const error = Object.assign(new Error('refused'), { code })
  expect(isLoginMissing(error, { id, name: id }, openLogins())).toBe(expected)
})

test('a call after a login that was refused names the reason beside the link (docs/login.md)', async () => {
  const error = { message: 'auth.example.com refused the login (access_denied)' }
  const logins = { ...openLogins(), stateOf: () => ({ error }) }
  const { message } = (await awaitLogin(server, logins, {}).catch((failure: Error) => failure)) as Error
  expect(message).toBe(`${NEEDED.message}. The last login is over: ${error.message}`)
})
