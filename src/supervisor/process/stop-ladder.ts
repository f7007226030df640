import { setTimeout as sleep } from 'node:timers/promises'
import type { StopStep } from '../../kernel/server-state.ts'
import { type Group, signalGroup, sweepTogether } from './signals.ts'

export interface Stoppable {
  readonly group: Group
  /** The environment variable that all its children inherit. */
  readonly mark: string
  /** Settles when the process has ended, whatever its children do. */
  readonly ended: Promise<unknown>
  /** Closes its stdin, which tells an MCP server to end. */
  closeInput(): void
}

export interface Graces {
  readonly stdinMs: number
  readonly termMs: number
}

/** Of 7 s, 2 s follow the end of stdin and 5 s follow SIGTERM. With the last steps, every stop takes less than 8 s. */
export function gracesWithin(stop_s: number): Graces {
  const stdinMs = Math.min(2000, (stop_s * 1000 * 2) / 7)
  return { stdinMs, termMs: stop_s * 1000 - stdinMs }
}

/**
 * Ends a process and all its children: closes stdin, then SIGTERM, then SIGKILL and a sweep. Returns the step that ended
 * the process. The last two always run, because children often outlive their parent.
 */
export async function stopLadder(
  child: Stoppable,
  graces: Graces,
  onStep: (step: StopStep) => void = () => {},
): Promise<StopStep> {
  const climb = async (step: StopStep, act: () => void, graceMs: number): Promise<boolean> => {
    onStep(step)
    act()
    return endsWithin(child.ended, graceMs)
  }
  const reached = await (async (): Promise<StopStep> => {
    if (await climb('stdin_closed', () => child.closeInput(), graces.stdinMs)) return 'stdin_closed'
    const terminate = () => {
      signalGroup(child.group, 'SIGTERM')
      signalGroup(child.group, 'SIGCONT') // a stopped process handles SIGTERM only after this
    }
    return (await climb('terminated', terminate, graces.termMs)) ? 'terminated' : 'killed'
  })()
  if (reached === 'killed') onStep('killed')
  signalGroup(child.group, 'SIGKILL')
  await sweepTogether(child.mark)
  await endsWithin(child.ended, 1000)
  return reached
}

async function endsWithin(ended: Promise<unknown>, ms: number): Promise<boolean> {
  const late = new AbortController()
  const timeout = sleep(ms, false, { signal: late.signal }).catch(() => false)
  const first = await Promise.race([ended.then(() => true), timeout])
  late.abort()
  return first
}
