import { homedir } from 'node:os'
import { commandHelp, readCommand } from '../config/commands.ts'
import { foldersOf } from '../config/paths.ts'
import { StartError } from '../kernel/exit.ts'
import { FrameReader, MESSAGE_MAX_BYTES } from '../protocol/frames.ts'
import { Bridge } from './bridge.ts'
import { findAddress, givenAddress } from './find.ts'
import { Link } from './link.ts'
import { CODES, errorLine } from './message.ts'

const PATIENCE_MS = 30_000
const END_GRACE_MS = 2000
const NEWLINE = Buffer.from('\n')

/** An MCP server on our streams that is the gateway of a running Toolroom. Lives as long as its input. */
export async function connect(words: readonly string[]): Promise<void> {
  const given = readCommand('connect', words)
  if (given === 'help') return void process.stdout.write(`${commandHelp('connect')}\n`)
  const { env, stdin, stdout, stderr } = process
  const key = env.TOOLROOM_KEY ?? ''
  if (!/^[\x21-\x7e]{1,512}$/.test(key))
    throw new StartError(
      'configuration',
      'TOOLROOM_KEY must hold the key of an agent; POST /api/agents/{agent_type}/connect writes the whole entry',
    )
  const url = given.get('url') ?? (env.TOOLROOM_URL || undefined)
  const fixed = url === undefined ? undefined : givenAddress(url, given.has('url') ? '--url' : 'TOOLROOM_URL')
  const { data } = foldersOf({ os: process.platform, home: homedir(), env }, env.TOOLROOM_HOME || undefined)
  const server = given.get('server')
  const path = server === undefined ? '/mcp' : `/mcp/${encodeURIComponent(server)}`

  const write = (line: Buffer | string) =>
    void stdout.write(typeof line === 'string' ? `${line}\n` : Buffer.concat([line, NEWLINE]))
  const bridge = new Bridge({
    link: new Link({
      key,
      // Looked for anew each time: after a restart it may be somewhere else.
      find: () => {
        const base = fixed ?? findAddress(data)
        return base === undefined ? undefined : base + path
      },
    }),
    write,
    warn: (sentence) => void stderr.write(`toolroom connect: ${sentence}\n`),
    away:
      fixed === undefined
        ? 'Toolroom is not running: start it with `toolroom up`'
        : `Toolroom does not answer at ${fixed}: start it with \`toolroom up\``,
    patienceMs: PATIENCE_MS,
  })

  let ending = false
  const end = () => {
    if (ending) return
    ending = true
    void bridge.end(END_GRACE_MS).finally(() => process.exit(0))
  }
  new FrameReader(stdin, MESSAGE_MAX_BYTES, ({ bytes, cut, borrowed }) => {
    if (cut > 0) write(errorLine(null, CODES.request, 'The line is longer than 10 MiB'))
    else if (bytes.length > 0) bridge.take(borrowed ? Buffer.from(bytes) : bytes)
  })
  stdin.on('end', end).on('close', end).on('error', end)
  stdout.on('error', end) // the agent is gone
  // Agents close our input and send a signal soon after; the end takes three seconds at most, and one is enough.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end)
}
