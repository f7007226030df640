import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { browserOpener, openInBrowser } from './browser.ts'
import { Failure } from './failure.ts'
import { findServer, type Named } from './find-server.ts'
import { runCommand } from './run-command.ts'
import type { ServiceClient } from './service-client.ts'

interface Started {
  readonly authorization_url: string
  readonly start_url: string
  readonly redirect_uri: string
  readonly issuer: string
  readonly expires_at: string
}

interface Outcome {
  readonly server_id: string
  readonly server_name: string
  readonly ok: boolean
  readonly tools: number | null
  readonly problem: Trouble | null
}

interface Trouble {
  readonly code: string
  readonly message: string
  readonly hint: string | null
}

interface LoginState {
  readonly auth: {
    readonly state: string
    readonly pending_until: string | null
    readonly error: Trouble | null
  }
}

interface Server extends Named {
  readonly status: string
  readonly tool_count: number | null
}

const POLL_MS = 500
/** The issuer is asked for registration and discovery before the answer. */
const BEGIN_MS = 60_000
/** After the browser has come back, the tokens are requested, and the server is connected. */
const SETTLE_MS = 40_000

/** Logs in to an HTTP server, in a browser on this computer or on another one. */
export function login(words: readonly string[], mainFile: string): Promise<void> {
  return runCommand('login', words, mainFile, async ({ client, flags, say }) => {
    const server = findServer(await serversOf(client), flags.get('SERVER') ?? '')
    const path = `/api/http-servers/${server.id}/login`
    const scopes = flags
      .get('scopes')
      ?.split(/[\s,]+/)
      .filter((scope) => scope !== '')
    const input = { ...(scopes && { scopes }), ...(flags.get('fresh') === 'true' && { fresh: true }) }
    const started = (await client.request('POST', path, input, BEGIN_MS)) as Started
    const page = started.redirect_uri.startsWith('https:') ? started.start_url : started.authorization_url
    say(`To log in to ${server.name} at ${new URL(started.issuer).host}, open this address:\n  ${page}`)
    const opener =
      flags.get('no-browser') === 'true' ? undefined : browserOpener(process.platform, process.env)
    if (opener && !(await openInBrowser(opener, page))) say('No browser could be opened.')
    const paste = pastedLogin(client, path, say)
    try {
      const outcome = await Promise.race([browserLogin(client, server, started.expires_at), paste.outcome])
      return shownOutcome(outcome)
    } finally {
      paste.close()
    }
  })
}

/** Forgets the login at an HTTP server. */
export function logout(words: readonly string[], mainFile: string): Promise<void> {
  return runCommand('logout', words, mainFile, async ({ client, flags }) => {
    const { id, name } = findServer(await serversOf(client), flags.get('SERVER') ?? '')
    const query = flags.get('client') === 'true' ? '?client=true' : ''
    await client.request('DELETE', `/api/http-servers/${id}/login${query}`, undefined, BEGIN_MS)
    return { text: `Logged out of ${name}`, json: { server_id: id, server_name: name } }
  })
}

const serversOf = async (client: ServiceClient): Promise<Server[]> =>
  ((await client.request('GET', '/api/http-servers')) as { items: Server[] }).items

/** Waits until the browser has come back to Toolroom. */
async function browserLogin(client: ServiceClient, server: Server, expiresAt: string): Promise<Outcome> {
  const path = `/api/http-servers/${server.id}`
  const outcome = { server_id: server.id, server_name: server.name, ok: true, tools: null, problem: null }
  const read = async () => ((await client.request('GET', `${path}/login`)) as LoginState).auth
  const { error: before } = await read() // of an earlier login; it stays until this one is finished
  let endedAt: number | undefined
  for (;;) {
    await sleep(POLL_MS)
    const { pending_until, state, error } = await read()
    if (pending_until !== null) continue
    if (endedAt === undefined && Date.parse(expiresAt) <= Date.now())
      throw new Failure('timeout', `The login to ${server.name} was not finished in time`, 'start it again')
    endedAt ??= performance.now()
    const isLate = performance.now() - endedAt > SETTLE_MS
    const hasFailed = state === 'logged_in' ? error?.code !== 'unavailable' : state !== 'expired'
    if (error && hasFailed && (error.message !== before?.message || isLate))
      return { ...outcome, ok: false, problem: error }
    if (state === 'logged_in') {
      const { status, tool_count } = (await client.request('GET', path)) as Server
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
      client.request('POST', `${path}/callback`, { url: line.trim() }, BEGIN_MS).then(
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

function shownOutcome(outcome: Outcome): { text: string; json: object } {
  const { server_name, ok, tools, problem } = outcome
  if (!ok)
    throw new Failure('failed', problem?.message ?? 'The login failed', problem?.hint ?? null, problem?.code)
  const count = tools === null ? '' : `: ${tools} ${tools === 1 ? 'tool' : 'tools'}`
  const trouble = problem ? `. ${problem.message}` : ''
  return { text: `Logged in to ${server_name}${count}${trouble}`, json: outcome }
}
