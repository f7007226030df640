import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { HttpServer } from '../run/any-server.ts'
import { browserOpener, openInBrowser } from '../run/browser.ts'
import type { Answer, Run } from '../run/command-context.ts'
import { Failure } from '../run/failure.ts'
import { findNamed } from '../run/find-named.ts'
import type { Api, Schemas, ServiceClient } from '../run/service-client.ts'

type Outcome = Schemas['ServerLoginOutcome']

/** The issuer is asked for registration and discovery before the answer. */
const LOGIN_MS = 60_000
const POLL_MS = 500
const SETTLE_MS = 40_000 // for the request of the tokens and the connection, after the browser has come back

/** `toolroom login SERVER`: logs in to an HTTP server, in a browser on this computer or on another one. */
export const login: Run = async ({ api, service, given, note, emit }) => {
  // The address is for the user; with --json, stdout is for the document.
  const say = (text: string) => {
    for (const line of text.split('\n'))
      if (given.is('json')) note(line)
      else emit({}, line)
  }
  const server = await httpServerNamed(api, given.word('SERVER'))
  const path = `/api/http-servers/${server.id}/login`
  const scopes = given
    .flag('scopes')
    ?.split(/[\s,]+/)
    .filter((scope) => scope !== '')
  const input = { ...(scopes && { scopes }), ...(given.is('fresh') && { fresh: true }) }
  const started = (await service.request('POST', path, input, LOGIN_MS)) as Schemas['LoginStart']
  // With the error of an earlier login: it stays until this one is finished. A browser may be back at once.
  const begun = { ...server, ...(await api.get('/api/http-servers/{id}/login', { path: { id: server.id } })) }
  const page = started.redirect_uri.startsWith('https:') ? started.start_url : started.authorization_url
  if (started.issuer_used_by.length > 0)
    say(
      `Toolroom is logged in at ${new URL(started.issuer).host} for ${started.issuer_used_by.join(', ')}, too.`,
    )
  say(`To log in to ${server.name} at ${new URL(started.issuer).host}, open this address:\n  ${page}`)
  const opener = given.is('no-browser') ? undefined : browserOpener(process.platform, process.env)
  if (opener && !(await openInBrowser(opener, page))) say('No browser could be opened.')
  const paste = pastedLogin(service, path, say)
  try {
    return shownOutcome(await Promise.race([browserLogin(api, begun, started.expires_at), paste.outcome]))
  } finally {
    paste.close()
  }
}

const httpServerNamed = async (api: Api, given: string): Promise<HttpServer> =>
  findNamed((await api.get('/api/http-servers')).items, given, 'HTTP server')

/** Waits until the browser has come back to Toolroom. */
async function browserLogin(api: Api, server: HttpServer, expiresAt: string): Promise<Outcome> {
  const path = { id: server.id }
  const common = { server_id: server.id, server_name: server.name, ok: true, tools: null, problem: null }
  const read = () => api.get('/api/http-servers/{id}/login', { path })
  let endedAt: number | undefined
  for (;;) {
    await sleep(POLL_MS)
    const { auth, account, unconfirmed_account } = await read()
    const { pending_until, confirm_until, state, error } = auth
    if (pending_until !== null) continue
    if (confirm_until !== null) return { ...common, account: unconfirmed_account, unconfirmed: true }
    const outcome = { ...common, account, unconfirmed: false }
    if (endedAt === undefined && Date.parse(expiresAt) <= Date.now())
      throw new Failure('timeout', `The login to ${server.name} was not finished in time`, 'start it again')
    endedAt ??= performance.now()
    const isLate = performance.now() - endedAt > SETTLE_MS
    const hasFailed = state === 'logged_in' ? error?.code !== 'unavailable' : state !== 'expired'
    if (error && hasFailed && (error.message !== server.auth.error?.message || isLate))
      return { ...outcome, ok: false, problem: error }
    if (state === 'logged_in') {
      const { status, tool_count } = await api.get('/api/http-servers/{id}', { path })
      if (status === 'connected' || isLate) return { ...outcome, tools: tool_count }
    } else if (isLate) throw new Failure('failed', `The login to ${server.name} was cancelled`, null)
  }
}

/** Finishes the login with the address that the browser was sent to, when a line with it is entered. */
function pastedLogin(client: ServiceClient, path: string, say: (text: string) => void) {
  const { stdin, stderr } = process
  if (stdin.isTTY)
    stderr.write('If the browser cannot show the last page, paste the address of that page here.\n')
  const lines = createInterface({ input: stdin, terminal: false })
  const outcome = new Promise<Outcome>((resolve, reject) => {
    lines.on('line', (line) => {
      if (line.trim() === '') return
      client.request('POST', `${path}/callback`, { url: line.trim() }, LOGIN_MS).then(
        (given) => resolve(given as Outcome),
        (error: unknown) => {
          const isWrong = error instanceof Failure && ['usage', 'conflict'].includes(error.exit)
          if (isWrong) say(`That is not the address of this login: ${error.message}`)
          else reject(error)
        },
      )
    })
  })
  const close = () => {
    lines.close()
    stdin.destroy()
  }
  return { outcome, close }
}

function shownOutcome(outcome: Outcome): Answer {
  const { server_name, ok, tools, problem } = outcome
  if (!ok)
    throw new Failure('failed', problem?.message ?? 'The login failed', problem?.hint ?? null, problem?.code)
  const count = tools === null ? '' : `: ${tools} ${tools === 1 ? 'tool' : 'tools'}`
  const trouble = problem ? `. ${problem.message}` : ''
  const confirm = outcome.unconfirmed
    ? `. It is not used yet: toolroom login confirm ${outcome.server_id}`
    : ''
  return { lines: [`Logged in to ${server_name}${as(outcome)}${count}${trouble}${confirm}`], json: outcome }
}

/** `toolroom login confirm SERVER`: says whether the account of a login is right that an agent led to. */
export const confirmLogin: Run = async ({ service, api, given }) => {
  const { id } = await httpServerNamed(api, given.word('SERVER'))
  const accept = !given.is('reject')
  const outcome = await service.request('POST', `/api/http-servers/${id}/login/confirm`, { accept }, LOGIN_MS)
  return accept ? shownOutcome(outcome as Outcome) : rejected(outcome as Outcome)
}

const rejected = (outcome: Outcome): Answer => ({
  lines: [`The login to ${outcome.server_name}${as(outcome)} was rejected`],
  json: outcome,
})

const as = ({ account }: Outcome): string => (account === null ? '' : ` as ${account}`)

/** `toolroom logout SERVER`: forgets the login at an HTTP server. */
export const logout: Run = async ({ api, service, given }) => {
  const { id, name } = await httpServerNamed(api, given.word('SERVER'))
  const json = { server_id: id, server_name: name }
  if (given.is('dry-run'))
    return {
      lines: [`Would log out of ${name}. Nothing was changed (--dry-run).`],
      json: { dry_run: true, ...json },
    }
  const query = given.is('client') ? '?client=true' : ''
  await service.request('DELETE', `/api/http-servers/${id}/login${query}`, undefined, LOGIN_MS)
  return { lines: [`Logged out of ${name}`], json }
}
