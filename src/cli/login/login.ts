import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Run } from '../frame/context.ts'
import { Failure } from '../frame/failure.ts'
import { findNamed } from '../frame/find-named.ts'
import type { ServiceClient } from '../frame/service-client.ts'
import { browserOpener, openInBrowser } from '../output/browser.ts'
import { httpServers, LOGIN_MS, type HttpServerLine as Server } from './http-servers.ts'

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

const POLL_MS = 500
/** After the browser has come back, the tokens are requested, and the server is connected. */
const SETTLE_MS = 40_000

/** `toolroom login SERVER`: logs in to an HTTP server, in a browser on this computer or on another one. */
export const run: Run = async ({ service, given, note, emit }) => {
  // The address is for the user; with --json, stdout is for the document.
  const say = (text: string) => {
    for (const line of text.split('\n'))
      if (given.is('json')) note(line)
      else emit({}, line)
  }
  const server = findNamed(await httpServers(service), given.word('SERVER'), 'HTTP server')
  const path = `/api/http-servers/${server.id}/login`
  const scopes = given
    .flag('scopes')
    ?.split(/[\s,]+/)
    .filter((scope) => scope !== '')
  const input = { ...(scopes && { scopes }), ...(given.is('fresh') && { fresh: true }) }
  const started = (await service.request('POST', path, input, LOGIN_MS)) as Started
  const page = started.redirect_uri.startsWith('https:') ? started.start_url : started.authorization_url
  say(`To log in to ${server.name} at ${new URL(started.issuer).host}, open this address:\n  ${page}`)
  const opener = given.is('no-browser') ? undefined : browserOpener(process.platform, process.env)
  if (opener && !(await openInBrowser(opener, page))) say('No browser could be opened.')
  const paste = pastedLogin(service, path, say)
  try {
    return shownOutcome(
      await Promise.race([browserLogin(service, server, started.expires_at), paste.outcome]),
    )
  } finally {
    paste.close()
  }
}

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
  return { lines: [`Logged in to ${server_name}${count}${trouble}`], json: outcome }
}
