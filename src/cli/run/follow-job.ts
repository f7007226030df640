import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from './command-context.ts'
import { Failure } from './failure.ts'
import { milliseconds } from './human-readable.ts'
import { sign, toned } from './printed-line.ts'
import type { Schemas } from './service-client.ts'

type Phase = Schemas['Job']['phases'][number]

const POLL_MS = 200
/** Phases that say nothing about the package. */
const HIDDEN = new Set(['queued', 'starting', 'done', 'failed', 'cancelled'])

/**
 * Waits for a job, and shows each phase on stderr when it is over. Ctrl-C cancels the job. A request that needed none has
 * its result already.
 */
export async function followJob<T extends object>(
  { api, note, during }: Context,
  started: T | { readonly job: string },
  subject: string,
): Promise<T> {
  if (!('job' in started)) return started
  const path = { id: started.job as string }
  const onInterrupt = () =>
    void api
      .post('/api/jobs/{id}/cancel', { path })
      .catch(() => {}) // it has ended, or the service has
      .then(() => process.exit(130))
  process.once('SIGINT', onInterrupt)
  let shown = 0
  try {
    for (;;) {
      const job = await during(subject, nextState(shown))
      const over = job.phases.filter(({ finished_at }) => finished_at !== null)
      for (const phase of over.slice(shown)) if (!HIDDEN.has(phase.name)) note(phaseLine(phase, job))
      shown = over.length
      if (job.status === 'done') return job.result as T
      if (job.error) throw new Failure('failed', job.error.message, job.error.hint, job.error.code)
    }
  } finally {
    process.off('SIGINT', onInterrupt)
  }

  /** The job when one more phase is over, or when it has ended. */
  async function nextState(phases: number): Promise<Schemas['Job']> {
    for (;;) {
      const job = await api.get('/api/jobs/{id}', { path })
      const over = job.phases.filter(({ finished_at }) => finished_at !== null).length
      if (over > phases || job.finished_at !== null) return job
      await sleep(POLL_MS)
    }
  }
}

function phaseLine({ name, started_at, finished_at }: Phase, { status, phases }: Schemas['Job']) {
  const took = Date.parse(finished_at ?? started_at) - Date.parse(started_at)
  const isLast = phases.findLast((phase) => !HIDDEN.has(phase.name))?.name === name
  const hasFailed = isLast && status !== 'done' && status !== 'running'
  return [sign(hasFailed ? 'err' : 'ok'), name.padEnd(18), toned('dim', milliseconds(took) ?? '')]
}
