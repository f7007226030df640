import { describe, expect, test } from 'vitest'
import { stopwatch } from '../../../../test/support/measuring.ts'
import { networkFailure } from '../../../net/network-failure.ts'
import { challengeIn, statusFailure } from './status-failure.ts'

const NOW = Date.parse('2026-11-15T06:00:00Z')
const failureFor = (status: number, headers = {}, quote?: string) =>
  statusFailure({ host: 'docs.test', status, headers, quote }, () => NOW)

describe('error status', () => {
  test.each([
    [401, 'auth_required'],
    [403, 'forbidden'],
    [404, 'not_found'],
    [405, 'http_error'],
    [418, 'http_error'],
    [429, 'rate_limited'],
    [500, 'http_error'],
    [502, 'http_error'],
    [503, 'unavailable'],
  ])('status %i becomes %s with the host and a hint', (status, code) => {
    const failure = failureFor(status, {}, 'the quote')
    expect(failure).toMatchObject({ code, status })
    expect(failure.message).toMatch(/^docs\.test .*: the quote$/)
    expect(failure.hint).not.toBe('')
  })

  test.each([
    ['17', 17],
    [' 0 ', 0],
    ['99999999', 86_400],
    ['Sun, 15 Nov 2026 06:02:00 GMT', 120],
    ['Sun, 15 Nov 2026 05:00:00 GMT', 0],
    ['soon', undefined],
    ['-5', 0],
    [undefined, undefined],
  ])('Retry-After %j means %j s', (header, seconds) => {
    for (const status of [429, 503])
      expect(failureFor(status, { 'retry-after': header }).retryAfterS).toBe(seconds)
  })

  test.each([
    ['Bearer', { scheme: 'Bearer' }],
    ['Basic realm="a \\"b\\" c"', { scheme: 'Basic', realm: 'a "b" c' }],
    [
      'Bearer error="invalid_token", resource_metadata=https://a.test/x, SCOPE="r w", odd',
      { scheme: 'Bearer', error: 'invalid_token', resource_metadata: 'https://a.test/x', scope: 'r w' },
    ],
    ['Bearer scope="one", scope="two"', { scheme: 'Bearer', scope: 'one' }],
    ['Bearer realm="\u001b[31mred\n"', { scheme: 'Bearer', realm: 'red' }],
    ['', undefined],
    ['=?', undefined],
    [undefined, undefined],
  ])('the WWW-Authenticate header %j is parsed', (header, auth) => {
    expect(challengeIn(header)).toEqual(auth)
    expect(failureFor(401, { 'www-authenticate': header }).auth).toEqual(auth)
  })

  test('a very long WWW-Authenticate header is parsed quickly', () => {
    const spent = stopwatch()
    challengeIn(`Bearer ${'a="'.repeat(1_000_000)}`)
    challengeIn(`Bearer realm="${'\\'.repeat(1_000_000)}`)
    challengeIn(`Bearer ${'a'.repeat(1_000_000)}`)
    expect(spent()).toBeLessThan(500)
  })
})

test.each([
  ['ENOTFOUND', 'connect', 'dns_failed'],
  ['EAI_AGAIN', 'connect', 'dns_failed'],
  ['ECONNREFUSED', 'connect', 'connection_refused'],
  ['EHOSTUNREACH', 'connect', 'connection_refused'],
  ['ETIMEDOUT', 'connect', 'connect_timeout'],
  ['ECONNRESET', 'tls', 'tls_failed'],
  ['EPROTO', 'tls', 'tls_failed'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls', 'tls_failed'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls', 'tls_failed'],
  ['ECONNRESET', 'send', 'connection_reset'],
  ['EPIPE', 'send', 'connection_reset'],
  ['ERR_STREAM_PREMATURE_CLOSE', 'body', 'connection_reset'],
  ['HPE_INVALID_CONSTANT', 'send', 'protocol_error'],
  ['HPE_HEADER_OVERFLOW', 'send', 'protocol_error'],
  ['Z_DATA_ERROR', 'body', 'protocol_error'],
  ['EMFILE', 'connect', 'protocol_error'],
] as const)(
  'the network error %s during %s becomes %s, with the host and without the text of the error',
  (code, phase, expected) => {
    const error = Object.assign(new Error('a secret'), { code })
    for (const cause of [error, new AggregateError([error])]) {
      const failure = networkFailure(cause, new URL('https://docs.test/mcp?key=a-secret'), phase)
      expect(failure).toMatchObject({ code: expected, message: expect.stringContaining('docs.test') })
      expect(`${failure.message} ${failure.hint}`).not.toContain('secret')
    }
  },
)
