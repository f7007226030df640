import { readFileSync } from 'node:fs'
import type { ProcessFacts } from '../process-table.ts'

/** Programs that adopt processes, besides pid 1. */
const ADOPTERS = ['systemd', 'init', 'tini', 'dumb-init', 'docker-init']

/** In a container, pid 1 may be the agent: processes it started are in its group, processes it adopted are not. */
export function isAdopted({ group }: ProcessFacts, parent: ProcessFacts | undefined): boolean {
  if (!parent || parent.group === group) return false
  return parent.pid === 1 || ADOPTERS.includes(parent.name)
}

/** The number itself if the user has no name. */
export function userName(id: string): string {
  try {
    const lines = readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
    return lines.find(([, , uid]) => uid === id)?.[0] ?? id
  } catch {
    return id // no /etc/passwd
  }
}
