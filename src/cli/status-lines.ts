export interface ServerLine {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly tool_count: number | null
  /** Of HTTP servers. */
  readonly auth?:
    | {
        readonly state: string
        readonly error: { readonly message: string; readonly hint: string | null } | null
      }
    | undefined
  readonly health: { readonly level: string; readonly summary: string; readonly action: string | null }
}

export interface Report {
  readonly address: string
  readonly version: string
  readonly uptime_s: number
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly detail: string | null }[]
  readonly warnings: readonly string[]
  readonly servers: readonly ServerLine[]
}

interface Look {
  /** Of the terminal; undefined if stdout is not one, so that nothing is cut. */
  readonly width: number | undefined
  readonly isColoured: boolean
}

/** One line per server, in columns. Colours only repeat the status. */
export function statusLines(report: Report, look: Look): string[] {
  const { address, version, uptime_s, checks, warnings, servers } = report
  const problems = checks.flatMap(({ name, ok, detail }) => (ok ? [] : [`${name}: ${detail ?? 'failed'}`]))
  const names = columnOf(servers.map(({ name }) => name))
  const states = columnOf(servers.map(wordOf))
  const tools = columnOf(servers.map(toolsOf))
  return [
    `Toolroom ${plain(version)} at ${plain(address)}, up ${durationOf(uptime_s)}`,
    ...[...problems, ...warnings].map((sentence) => cut(`! ${plain(sentence)}`, look.width)),
    ...(servers.length === 0 ? ['No servers yet'] : []),
    ...servers.map((server, at) => {
      const text = `  ${names[at]}  ${states[at]}  ${tools[at]}  ${problemOf(server)}`.trimEnd()
      return coloured(cut(text, look.width), states[at] ?? '', server, look)
    }),
  ]
}

const WORDS: Readonly<Record<string, string>> = {
  idle: 'asleep',
  backoff: 'waiting to retry',
  auth_required: 'sign-in needed',
  unknown: 'not checked',
}
const wordOf = ({ status }: ServerLine): string => plain(WORDS[status] ?? status)

const toolsOf = ({ tool_count }: ServerLine): string =>
  tool_count === null ? '-' : `${tool_count} ${tool_count === 1 ? 'tool' : 'tools'}`

function problemOf({ id, health, auth }: ServerLine): string {
  const login = LOGINS[auth?.state ?? '']
  if (login !== undefined) return plain(`${login}: toolroom login ${id}`)
  if (auth?.state === 'refused' && auth.error)
    return `login refused: ${sentences(auth.error.message, auth.error.hint)}`
  if (health.level !== 'unhealthy' && health.level !== 'degraded') return ''
  return sentences(health.summary, health.action)
}

const sentences = (...texts: readonly (string | null)[]): string =>
  plain(texts.filter((text) => text).join('. '))

const LOGINS: Readonly<Record<string, string>> = { expired: 'login expired', needs_login: 'login needed' }

const COLOURS: Readonly<Record<string, number>> = { healthy: 32, degraded: 33, unhealthy: 31 }

/** Colours only the status, so that columns stay aligned. */
function coloured(line: string, word: string, { health }: ServerLine, { isColoured }: Look): string {
  const colour = COLOURS[health.level]
  const at = line.indexOf(word.trimEnd(), 2)
  if (!isColoured || colour === undefined || at < 0) return line
  const end = at + word.trimEnd().length
  return `${line.slice(0, at)}\u001b[${colour}m${line.slice(at, end)}\u001b[0m${line.slice(end)}`
}

function columnOf(texts: readonly string[]): string[] {
  const shown = texts.map(plain)
  const width = Math.max(0, ...shown.map((text) => text.length))
  return shown.map((text) => text.padEnd(width))
}

const cut = (text: string, width: number | undefined): string =>
  width !== undefined && text.length > width ? `${text.slice(0, Math.max(1, width - 1))}…` : text

/** Without control characters: text from a server must not move the cursor. */
export const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim()

function durationOf(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  if (minutes < 1) return `${Math.floor(seconds)} s`
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`
}
