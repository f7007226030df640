import { createHash } from 'node:crypto'
import type { LoginOutcome } from './login-record.ts'

/** An HTML page with the headers that it needs. */
export interface Page {
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

/** What a login would do. */
interface Planned {
  readonly server_name: string
  readonly issuer: string | null
  readonly issuer_used_by: readonly string[]
  readonly scopes: readonly string[]
}

interface Problem {
  readonly message: string
  readonly hint?: string | null | undefined
}

const MAX_SCOPES = 50
const MAX_CHARS = 2000

const STYLE = `
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --text: #1b2128; --muted: #545f6b; --line: #dfe3e8;
  --sunken: #f1f3f6; --on-ink: #fff; --ok: #12642b; --err: #b3261e; --focus: #0b57b5 }
@media (prefers-color-scheme: dark) { :root { --page: #0f1317; --card: #171c22; --text: #e6eaef; --muted: #a3afbb;
  --line: #2a323b; --sunken: #12171c; --on-ink: #0f1317; --ok: #6fdb97; --err: #ff9b92; --focus: #8ec2ff } }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--page); color: var(--text);
  font: 15px/22px system-ui, -apple-system, "Segoe UI", sans-serif }
main { box-sizing: border-box; width: min(28rem, 100vw - 24px); margin: 12px; padding: 24px; background: var(--card);
  border: 1px solid var(--line); border-radius: 10px; overflow-wrap: anywhere }
h1 { margin: 0 0 12px; font-size: 20px; line-height: 28px; font-weight: 600; letter-spacing: -.02em }
p { margin: 0 0 12px } p:last-child { margin: 0 }
ul { margin: 0 0 16px; padding: 8px 12px; max-height: 12rem; overflow: auto; list-style: none; background: var(--sunken);
  border-radius: 6px }
code { font: 13px/20px ui-monospace, Menlo, Consolas, monospace }
button { min-height: 32px; margin: 0 0 16px; padding: 4px 14px; border: 0; border-radius: 6px; background: var(--text);
  color: var(--on-ink); font: inherit; font-weight: 500; cursor: pointer }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px }
.muted { color: var(--muted); font-size: 13px; line-height: 20px }
.ok { color: var(--ok) } .err { color: var(--err) }
`
/**
 * Browsers apply `form-action` to every redirect that follows a form: to the host where an issuer's users log in, and back to
 * Toolroom if they are logged in already. Only the first of them is known.
 */
const FORM_TARGETS = ['https:', 'http://localhost:*', 'http://127.0.0.1:*']
const STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`

/** Says where a login leads, before anything happens. Its button sends the form to the same address. */
export function startPage({ server_name, issuer, issuer_used_by, scopes }: Planned): Page {
  const host = issuer === null ? 'the issuer' : new URL(issuer).host
  const asked =
    scopes.length === 0
      ? `<p>At <b>${escaped(host)}</b>, you are then asked what Toolroom may do.</p>`
      : `<p>At <b>${escaped(host)}</b>, you are then asked to allow these scopes:</p><ul>${scopeItems(scopes)}</ul>`
  const body = `<h1>Log in to ${escaped(server_name)}</h1>
<p>Toolroom uses this login for the calls of all your agents.</p>
${asked}
${othersAt(host, issuer_used_by)}<form method="post"><button autofocus>Continue to ${escaped(host)}</button></form>
<p class="muted">Nothing has happened yet. If you did not expect this page, close it.</p>`
  const targets = issuer === null ? FORM_TARGETS : [new URL(issuer).origin, ...FORM_TARGETS]
  return page(`Log in to ${server_name}`, body, ["'self'", ...targets])
}

const othersAt = (host: string, servers: readonly string[]): string =>
  servers.length === 0
    ? ''
    : `<p>Toolroom is logged in there for ${servers.map((id) => `<b>${escaped(id)}</b>`).join(', ')}, too. Go on only if both belong to ${escaped(host)}.</p>`

/** Says how a login ended. */
export function donePage(outcome: Omit<LoginOutcome, 'id'>): Page {
  const { server_name, ok, account, tools, problem } = outcome
  if (!ok) return failedPage(server_name, problem)
  const who = account === null ? '' : `<p>The account is <b>${escaped(account)}</b>.</p>`
  if (outcome.unconfirmed) return unconfirmedPage(outcome, who)
  const title = `Logged in to ${server_name}`
  const count = tools === null ? '' : `${tools} ${tools === 1 ? 'tool is' : 'tools are'} available. `
  const reason = problem
    ? `<p>The login worked, but the server could not be used: ${escaped(problem.message)}</p>${hintOf(problem)}`
    : ''
  return page(
    title,
    `<h1><span class="ok">✓</span> ${escaped(title)}</h1>${who}${reason}<p>${count}You can close this page.</p>`,
  )
}

/** The login began at a page that agents can open. */
function unconfirmedPage({ server_id, server_name }: Omit<LoginOutcome, 'id'>, who: string): Page {
  const title = `Confirm the login to ${server_name}`
  return page(
    title,
    `<h1>${escaped(title)}</h1>${who || '<p>The issuer does not name the account.</p>'}
<p>Toolroom does not use this login yet. If it is yours, confirm it within 10 minutes: in the dashboard at
<a href="../servers/${encodeURIComponent(server_id)}">the page of the server</a>, or with <code>toolroom login confirm ${escaped(server_id)}</code></p>
<p class="muted">If you did not log in yourself, do nothing: nothing was sent with this account.</p>`,
  )
}

/** Says why there is no login. */
export function failedPage(server_name: string | null, problem: Problem | null): Page {
  const title = server_name === null ? 'Not logged in' : `Not logged in to ${server_name}`
  const reason = problem ? `<p>${escaped(problem.message)}</p>${hintOf(problem)}` : ''
  return page(
    title,
    `<h1><span class="err">✕</span> ${escaped(title)}</h1>${reason}<p>You can close this page.</p>`,
  )
}

export const textPage = (title: string, sentence: string): Page =>
  page(title, `<h1>${escaped(title)}</h1><p>${escaped(sentence)}</p>`)

const hintOf = ({ hint }: Problem): string => (hint ? `<p>${escaped(hint)}</p>` : '')

const scopeItems = (scopes: readonly string[]): string =>
  [...scopes.slice(0, MAX_SCOPES), ...(scopes.length > MAX_SCOPES ? ['…'] : [])]
    .map((scope) => `<li><code>${escaped(scope)}</code></li>`)
    .join('')

/** `targets`: where a form may lead, redirects included. */
function page(title: string, body: string, targets: readonly string[] = ["'none'"]): Page {
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title><style>${STYLE}</style></head><body><main>${body}</main></body></html>
`
  const policy = [
    "default-src 'none'",
    `style-src ${STYLE_SOURCE}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    `form-action ${targets.join(' ')}`,
  ].join('; ')
  const hasForm = !targets.includes("'none'")
  return {
    html,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      // With no-referrer, browsers send `Origin: null` with the form, which the gate refuses.
      'referrer-policy': hasForm ? 'same-origin' : 'no-referrer',
    },
  }
}

/** Text of others as HTML. */
const escaped = (text: string): string =>
  text.slice(0, MAX_CHARS).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
