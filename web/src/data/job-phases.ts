import type { Job } from './api.ts'

/** The phases that each kind of job passes, in order. The service reports those that have begun. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  package_install: ['resolving', 'installing', 'checking', 'activating', 'starting'],
  package_update: ['resolving', 'installing', 'checking', 'trying', 'waiting', 'activating'],
}

export interface JobPhase {
  readonly name: string
  readonly state: 'done' | 'now' | 'later' | 'failed'
}

/** Every phase with its state: those that began, then those to come. */
export function phasesOf({ kind, status, phases }: Pick<Job, 'kind' | 'status' | 'phases'>): JobPhase[] {
  const begun = phases.map(({ name, finished_at }): JobPhase => {
    if (finished_at !== null) return { name, state: 'done' }
    return { name, state: status === 'failed' || status === 'cancelled' ? 'failed' : 'now' }
  })
  const names = new Set(begun.map(({ name }) => name))
  const later = status === 'done' ? [] : (EXPECTED[kind] ?? []).filter((name) => !names.has(name))
  return [...begun, ...later.map((name): JobPhase => ({ name, state: 'later' }))]
}
