import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { DOCUMENT_URL, type Happened, runLoginSuite } from '../conformance/login-suite.mjs'
import { FULL } from '../support/full-or-short.ts'
import { openTestService, TOKEN } from '../support/test-service.ts'

/** What happens in each scenario of the official suite. docs/gateway.md has the same table. */
const LOGGED_IN = 'logs in, and the call is answered'
const AGAIN = 'logs in twice, and the call is answered'
const IN_VAIN = 'three logins at most, and the call is refused'
const NO_BROWSER = 'the call is answered without a browser'
const SCENARIOS = {
  'metadata-default': LOGGED_IN,
  'metadata-var1': LOGGED_IN,
  'metadata-var2': LOGGED_IN,
  'metadata-var3': LOGGED_IN,
  'basic-cimd': LOGGED_IN,
  'scope-from-www-authenticate': LOGGED_IN,
  'scope-from-scopes-supported': LOGGED_IN,
  'scope-omitted-when-undefined': LOGGED_IN,
  'scope-step-up': AGAIN,
  'scope-retry-limit': IN_VAIN,
  'token-endpoint-auth-basic': LOGGED_IN,
  'token-endpoint-auth-post': LOGGED_IN,
  'token-endpoint-auth-none': LOGGED_IN,
  'pre-registration': LOGGED_IN,
  'resource-mismatch': '`resource_mismatch`',
  'offline-access-scope': LOGGED_IN,
  'offline-access-not-supported': LOGGED_IN,
  'authorization-server-migration': AGAIN,
  'iss-supported': LOGGED_IN,
  'iss-not-advertised': LOGGED_IN,
  'iss-supported-missing': '`issuer_mismatch`',
  'iss-wrong-issuer': '`issuer_mismatch`',
  'iss-unexpected': '`issuer_mismatch`',
  'iss-normalized': '`issuer_mismatch`',
  'metadata-issuer-mismatch': '`issuer_mismatch`',
  'client-credentials-jwt': NO_BROWSER,
  'client-credentials-basic': NO_BROWSER,
  dpop: LOGGED_IN,
  'dpop-nonce': LOGGED_IN,
  '2025-03-26-oauth-metadata-backcompat': LOGGED_IN,
  '2025-03-26-oauth-endpoint-fallback': LOGGED_IN,
}
/** Extensions that are not supported. The suite runs them; the result does not matter. */
const REPORTED = ['enterprise-managed-authorization', 'wif-jwt-bearer']
/**
 * The scenarios of each revision, without those that are only reported. Those of 2025-11-25 are among those of 2026-07-28.
 */
const COUNTS = { '2026-07-28': 29, ...(FULL && { '2025-11-25': 18 }), '2025-03-26': 2 }

test('the 31 login scenarios of the official suite pass through the service and its callback', async () => {
  const plain = await openTestService()
  const withDocument = await openTestService({ env: { OAUTH_CLIENT_METADATA_URL: DOCUMENT_URL } })
  const seen = new Set<string>()
  for (const [revision, count] of Object.entries(COUNTS)) {
    const rows = await runLoginSuite({
      revision,
      address: plain.address,
      documentAddress: withDocument.address,
      token: TOKEN,
    })
    const decisive = rows.filter(({ name }) => !REPORTED.includes(name.slice('auth/'.length)))
    expect(decisive).toHaveLength(count)
    const found = decisive.map(({ name, passed, reason, warnings, happened }) => ({
      scenario: `${name} (${revision})`,
      happens: happened && inWords(name, happened),
      problems: [...(passed ? [] : [reason]), ...warnings],
    }))
    expect(found).toEqual(
      decisive.map(({ name }) => ({
        scenario: `${name} (${revision})`,
        happens: SCENARIOS[name.slice('auth/'.length) as keyof typeof SCENARIOS],
        problems: [],
      })),
    )
    for (const { name } of decisive) seen.add(name.slice('auth/'.length))
  }
  expect([...seen].sort()).toEqual(Object.keys(SCENARIOS).sort())
})

test('docs/gateway.md has the table of the login scenarios', () => {
  const docs = readFileSync(new URL('../../docs/gateway.md', import.meta.url), 'utf8')
  const rows = Object.entries(SCENARIOS).map(([name, happens]) => `| \`auth/${name}\` | ${happens} |`)
  expect(docs).toContain(rows.join('\n'))
})

function inWords(name: string, { called, logins, code }: Happened): string {
  if (name === 'auth/scope-retry-limit' && !called && logins <= 3) return IN_VAIN // after three requests it answers 410
  if (!called) return `\`${code}\``
  return [NO_BROWSER, LOGGED_IN, AGAIN][logins] ?? `logs in ${logins} times, and the call is answered`
}
