import { setTimeout as sleep } from 'node:timers/promises'
import type { StopStep } from '../../kernel/server-state.ts'
import type { ProcessGroup } from '../platform/platform.ts'

export type Stoppable = Pick<ProcessGroup, 'ended' | 'closeInput' | 'ask' | 'end'>

export interface Graces {
  readonly stdinMs: number
  readonly termMs: number
}

/** Divides `stop_s`: 7 s are 2 s after the end of stdin and 5 s after SIGTERM. Every such stop takes less than 8 s. */
export function gracesWithin(stop_s: number): Graces {
  const stdinMs = Math.min(2000, (stop_s * 1000 * 2) / 7)
  return { stdinMs, termMs: stop_s * 1000 - stdinMs }
}

/**
 * Ends a process and all its children: closes stdin, then asks it, then ends it. Returns the step that ended the
 * process. The last one always runs, because children often outlive their parent.
 */
export async function stopLadder(
  child: Stoppable,
  graces: Graces,
  onStep: (step: StopStep) => void = () => {},
): Promise<StopStep> {
  const reached = await (async (): Promise<StopStep> => {
    onStep('stdin_closed')
    await child.closeInput()
    if (await endsWithin(child.ended, graces.stdinMs)) return 'stdin_closed'
    if (!child.ask()) return 'killed'
    onStep('terminated')
    return (await endsWithin(child.ended, graces.termMs)) ? 'terminated' : 'killed'
  })()
  if (reached === 'killed') onStep('killed')
  await child.end()
  return reached
}

async function endsWithin(ended: Promise<unknown>, ms: number): Promise<boolean> {
  const late = new AbortController()
  const timeout = sleep(ms, false, { signal: late.signal }).catch(() => false)
  const first = await Promise.race([ended.then(() => true), timeout])
  late.abort()
  return first
}
