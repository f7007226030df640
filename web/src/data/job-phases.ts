import type { Job } from './api.ts'

/** The phases that each kind of job passes, in order. The service reports those that have begun. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  package_install: ['resolving', 'installing', 'checking', 'finishing'],
  image_pull: ['resolving', 'downloading', 'extracting'],
  package_update: ['resolving', 'installing', 'checking', 'trying', 'switching'],
}

export interface JobPhase {
  readonly name: string
  readonly state: 'done' | 'now' | 'later' | 'failed'
}

/** Every phase with its state: those that began, then those to come. The last one of a failed job is where it failed. */
export function phasesOf({ kind, status, phases }: Pick<Job, 'kind' | 'status' | 'phases'>): JobPhase[] {
  const hasFailed = status === 'failed' || status === 'cancelled'
  const begun = phases.map(({ name, finished_at }, index): JobPhase => {
    if (hasFailed && index === phases.length - 1) return { name, state: 'failed' }
    return { name, state: finished_at === null ? 'now' : 'done' }
  })
  const names = new Set(begun.map(({ name }) => name))
  const later = status === 'done' ? [] : (EXPECTED[kind] ?? []).filter((name) => !names.has(name))
  return [...begun, ...later.map((name): JobPhase => ({ name, state: 'later' }))]
}
