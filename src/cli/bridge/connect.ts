import { homedir } from 'node:os'
import { parseWords } from '../../kernel/config/parse-flags.ts'
import { foldersOf } from '../../kernel/config/paths.ts'
import { configError } from '../../kernel/exit-codes.ts'
import { LineReader, MESSAGE_MAX_BYTES } from '../../mcp/protocol/line-splitter.ts'
import { findAddress, networkFrom, parseAddress } from '../run/service-address.ts'
import { Bridge } from './bridge.ts'
import { CODES, errorLine } from './bridge-message.ts'
import { Link } from './gateway-link.ts'

const TIMEOUT_MS = 30_000
const END_GRACE_MS = 2000
const FLAGS = { server: { type: 'string' }, url: { type: 'string' } } as const
const NEWLINE = Buffer.from('\n')

/**
 * An MCP server on stdio that forwards to the gateway of Toolroom, which it starts if need be. Runs until stdin ends.
 * Returns `help` if that is what the words ask for.
 */
export function connect(words: readonly string[], mainFile: string): 'help' | undefined {
  const parsed = parseWords(words, FLAGS, unknown)
  if (parsed === 'help') return parsed
  const given = new Map([...parsed.flags].map(([name, values]) => [name, values.at(-1) ?? '']))
  const empty = [...given].find(([, value]) => value === '')
  if (empty) throw configError(`--${empty[0]} needs a value`)
  const { env, stdin, stdout, stderr } = process
  const key = env.TOOLROOM_KEY ?? ''
  if (!/^[\x21-\x7e]{1,512}$/.test(key))
    throw configError(
      'TOOLROOM_KEY must contain a gateway key; `toolroom agents connect` writes the complete entry',
    )
  const url = given.get('url') ?? (env.TOOLROOM_URL || undefined)
  const fixed = url === undefined ? undefined : parseAddress(url, given.has('url') ? '--url' : 'TOOLROOM_URL')
  const { data } = foldersOf({ os: process.platform, home: homedir(), env }, env.TOOLROOM_HOME || undefined)
  const server = given.get('server')
  const path = server === undefined ? '/mcp' : `/mcp/${encodeURIComponent(server)}`

  const write = (line: Buffer | string) =>
    void stdout.write(typeof line === 'string' ? `${line}\n` : Buffer.concat([line, NEWLINE]))
  const bridge = new Bridge({
    link: new Link({
      key,
      network: networkFrom(env),
      // Looked up for each request: a restart may change the address.
      find: () => {
        const base = fixed ?? findAddress(data)
        return base === undefined ? undefined : base + path
      },
      start:
        fixed !== undefined || env.AGENTS_START_SERVICE === 'false' ? undefined : starter(data, mainFile),
    }),
    write,
    warn: (sentence) => void stderr.write(`toolroom connect: ${sentence}\n`),
    unavailable:
      fixed === undefined
        ? 'Toolroom is not running: start it with `toolroom up`'
        : `Toolroom does not respond at ${fixed}: start it with \`toolroom up\``,
    timeoutMs: TIMEOUT_MS,
  })

  let ending = false
  const end = () => {
    if (ending) return
    ending = true
    void bridge.end(END_GRACE_MS).finally(() => process.exit(0))
  }
  new LineReader(stdin, MESSAGE_MAX_BYTES, ({ bytes, cut, borrowed }) => {
    if (cut > 0) write(errorLine(null, CODES.request, 'The line is longer than 10 MiB'))
    else if (bytes.length > 0) bridge.receive(borrowed ? Buffer.from(bytes) : bytes)
  })
  stdin.on('end', end).on('close', end).on('error', end)
  stdout.on('error', end) // the agent has ended
  // Agents close stdin and send a signal soon after. Ending once is enough; it takes three seconds at most.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end)
  return undefined
}

/** The code for it is loaded only then. */
const starter = (data: string, mainFile: string) => (): Promise<string | undefined> =>
  import('./start-service.ts')
    .then(({ startService }) => startService(data, mainFile))
    .catch((error: unknown) => `Toolroom is not running, and could not be started: ${String(error)}`)

const unknown = (word: string): Error =>
  configError(
    word.startsWith('-')
      ? `Unknown flag '${word}'; see toolroom connect --help`
      : `Unexpected argument '${word}'; to connect an agent, run: toolroom agents connect ${word}`,
  )
