import { setTimeout as sleep } from 'node:timers/promises'
import { LineReader, LOG_LINE_MAX_BYTES } from '../../mcp/protocol/line-splitter.ts'
import type { Exit } from '../platform/platform.ts'
import { type Starting, startChild } from './start-child.ts'
import { stopLadder } from './stop-ladder.ts'

export interface Command {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  /** In addition to the variables that every child inherits. */
  readonly env: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  readonly timeoutMs: number
  readonly onLine?: (stream: 'stdout' | 'stderr', text: string) => void
}

interface Deps extends Starting {
  readonly mark: string
}

export interface Finished extends Exit {
  /** Why it was ended early; null if it was not. */
  readonly cut: 'late' | 'cancelled' | null
}

const GRACES = { stdinMs: 0, termMs: 2000 }
let started = 0

/** Runs a program such as npm, with its children, to its end. Rejects with a StartFailure. */
export async function runCommand(command: Command, { mark, ...starting }: Deps): Promise<Finished> {
  const { signal, onLine } = command
  started += 1
  const { args, env, cwd = null } = command
  const definition = { command: command.command, args, env, cwd }
  const child = await startChild(definition, `${mark}/command-${started}/`, starting)
  await child.closeInput()
  for (const stream of ['stdout', 'stderr'] as const) {
    const source = stream === 'stdout' ? child.output : child.errors
    source.on('error', () => {}) // the process has ended, which `ended` reports
    new LineReader(source, LOG_LINE_MAX_BYTES, ({ bytes }) => onLine?.(stream, bytes.toString('utf8')))
  }
  const cut = await endOrCut(child.ended, command.timeoutMs, signal)
  if (cut === null) await child.end()
  else await stopLadder(child, GRACES)
  const exit = await child.ended
  await sleep(LAST_OUTPUT_MS)
  return { ...exit, cut }
}
/** The last output of a process is usually read shortly after its end. */
const LAST_OUTPUT_MS = 20

async function endOrCut(
  ended: Promise<Exit>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<Finished['cut']> {
  const over = new AbortController()
  const late = sleep(timeoutMs, 'late' as const, { signal: over.signal }).catch(() => null)
  const cancelled = new Promise<'cancelled'>((resolve) => {
    if (signal?.aborted) resolve('cancelled')
    signal?.addEventListener('abort', () => resolve('cancelled'), { once: true, signal: over.signal })
  })
  const first = await Promise.race([ended.then(() => null), late, cancelled])
  over.abort()
  return first
}
