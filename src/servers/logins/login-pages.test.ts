import { expect, test } from 'vitest'
import { donePage, failedPage, startPage, textPage } from './login-pages.ts'

const LOGIN = { server_id: 'a', server_name: 'a', account: null, unconfirmed: false }
const FOREIGN = `<script>alert(1)</script>"'&`

test('the start page names the server, the host of the issuer and the scopes, and its form may lead to the issuer (docs/login.md)', () => {
  const { html, headers } = startPage({
    server_name: 'linear',
    issuer: 'https://auth.linear.app/tenant',
    issuer_used_by: ['other'],
    scopes: ['read', 'issues:create'],
  })
  expect(html).toContain('<h1>Log in to linear</h1>')
  expect(html).toContain('<b>auth.linear.app</b>')
  expect(html).toContain('<li><code>issues:create</code></li>')
  expect(html).toContain('<form method="post">')
  expect(html).toContain('Toolroom is logged in there for <b>other</b>, too')
  expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; /)
  expect(headers['content-security-policy']).toContain("form-action 'self' https://auth.linear.app ")
  expect(headers['referrer-policy']).toBe('same-origin')
})

test('no page contains a script or the markup of others, and a page without a form leads nowhere', () => {
  const problem = { code: 'x', message: FOREIGN, hint: FOREIGN }
  const pages = [
    startPage({ server_name: FOREIGN, issuer: null, issuer_used_by: [FOREIGN], scopes: [FOREIGN] }),
    donePage({ ...LOGIN, server_name: FOREIGN, ok: false, tools: null, problem }),
    donePage({ ...LOGIN, account: FOREIGN, server_name: FOREIGN, ok: true, tools: 1, problem }),
    failedPage(null, problem),
    textPage(FOREIGN, FOREIGN),
  ]
  for (const { html } of pages) {
    expect(html).not.toMatch(/<script|"'&|\son\w+=|src=|href=/)
    expect(html).toContain('&#60;script&#62;alert(1)&#60;/script&#62;&#34;&#39;&#38;')
  }
  for (const { headers } of pages.slice(1)) {
    expect(headers['content-security-policy']).toContain("form-action 'none'")
    expect(headers['referrer-policy']).toBe('no-referrer')
  }
})

test('a long list of scopes and a long sentence are cut', () => {
  const scopes = Array.from({ length: 1000 }, (_, n) => `scope-${n}`)
  const start = startPage({ server_name: 'a', issuer: 'https://a.example', issuer_used_by: [], scopes })
  expect(start.html.match(/<li>/g)).toHaveLength(51)
  const problem = { code: 'x', message: 'x'.repeat(1_000_000), hint: null }
  expect(donePage({ ...LOGIN, ok: false, tools: null, problem }).html.length).toBeLessThan(10_000)
})

test.each([
  [{ ok: true, tools: 12, problem: null }, ['Logged in to a', '12 tools are available']],
  [{ ok: true, tools: 1, problem: null }, ['Logged in to a', '1 tool is available']],
  [
    { ok: true, tools: null, problem: { code: 'x', message: 'a.example answered 500', hint: null } },
    ['Logged in to a', 'The login worked, but the server could not be used: a.example answered 500'],
  ],
  [
    { ok: false, tools: null, problem: { code: 'x', message: 'You denied the access', hint: 'Start again' } },
    ['Not logged in to a', '<p>You denied the access</p><p>Start again</p>'],
  ],
])('the last page of a login that ended with %j says so', (outcome, texts) => {
  const { html } = donePage({ ...LOGIN, ...outcome })
  for (const text of texts) expect(html).toContain(text)
})

test('the last page names the account, and says how to confirm a login that an agent led to', () => {
  const outcome = { ...LOGIN, ok: true, account: 'ada@example.com', tools: 3, problem: null }
  expect(donePage(outcome).html).toContain('The account is <b>ada@example.com</b>')
  const { html } = donePage({ ...outcome, unconfirmed: true, tools: null })
  for (const text of ['ada@example.com', 'toolroom login confirm a', 'Toolroom does not use this login yet'])
    expect(html).toContain(text)
})
