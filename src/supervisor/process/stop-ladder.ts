import { setTimeout as sleep } from 'node:timers/promises'
import type { StopStep } from '../../kernel/server-state.ts'
import { type Group, signalGroup, sweep } from './signals.ts'

export interface Stoppable {
  readonly group: Group
  /** The entry in the environment that everything it started inherits. */
  readonly mark: string
  /** Settles when the process itself has ended. */
  readonly ended: Promise<unknown>
  /** Ends its input, which polite servers take as the wish to end. */
  closeInput(): void
}

export interface Graces {
  readonly stdinMs: number
  readonly termMs: number
}

/** Of 7 s the polite get 2, and those who listen to signals 5; with the last rungs it is under 8 s for everybody. */
export function gracesWithin(stop_s: number): Graces {
  const stdinMs = Math.min(2000, (stop_s * 1000 * 2) / 7)
  return { stdinMs, termMs: stop_s * 1000 - stdinMs }
}

/**
 * Ends a process and everything it started: asks, insists, and does not take no for an answer. Says how far it had to
 * go. Even a polite end is followed by the last two rungs, because children often outlive their parent.
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
      signalGroup(child.group, 'SIGCONT') // one that is stopped cannot hear the first
    }
    return (await climb('terminated', terminate, graces.termMs)) ? 'terminated' : 'killed'
  })()
  if (reached === 'killed') onStep('killed')
  signalGroup(child.group, 'SIGKILL')
  sweep(child.mark)
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
