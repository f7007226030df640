import { setTimeout as sleep } from 'node:timers/promises'
import { FrameReader, LOG_LINE_MAX_BYTES } from '../../protocol/frames.ts'
import type { Exit } from './child.ts'
import type { Reaper } from './reaper.ts'
import { startChild } from './start-child.ts'
import { stopLadder } from './stop-ladder.ts'

export interface Command {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  /** All that it gets, besides what every child gets. */
  readonly env: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  readonly timeoutMs: number
  readonly onLine?: (stream: 'stdout' | 'stderr', text: string) => void
}

interface Deps {
  readonly mark: string
  readonly reaper: Pick<Reaper, 'watch' | 'forget'>
}

export interface Finished extends Exit {
  /** It was ended, because it took too long or was cancelled. */
  readonly cut: 'late' | 'cancelled' | null
}

const GRACES = { stdinMs: 0, termMs: 2000 }
let started = 0

/** Runs a program to its end, such as npm, with everything it starts. Rejects with a StartFailure. */
export async function runCommand(command: Command, { mark, reaper }: Deps): Promise<Finished> {
  const { signal, onLine } = command
  started += 1
  const { args, env, cwd = null } = command
  const definition = { command: command.command, args, env, cwd }
  const child = await startChild(definition, `${mark}/command-${started}/`)
  reaper.watch(child.group.leader)
  child.closeInput()
  for (const stream of ['stdout', 'stderr'] as const) {
    const source = stream === 'stdout' ? child.output : child.errors
    source.on('error', () => {}) // the pipe broke with the process; its exit says so
    new FrameReader(source, LOG_LINE_MAX_BYTES, ({ bytes }) => onLine?.(stream, bytes.toString('utf8')))
  }
  const cut = await endOrCut(child.ended, command.timeoutMs, signal)
  if (cut !== null) await stopLadder(child, GRACES)
  const exit = await child.ended
  reaper.forget(child.group.leader)
  await sleep(LAST_WORDS_MS)
  return { ...exit, cut }
}
/** What a process wrote before its end is mostly read a moment after it. */
const LAST_WORDS_MS = 20

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
