import { Link } from 'wouter'
import { phasesOf } from '../../data/job-phases.ts'
import { progressOf, useJobs } from '../../data/jobs.ts'
import { long } from '../../format/format.ts'
import { PhaseBar } from '../../parts/charts/PhaseBar.tsx'
import { useNow } from '../../parts/marks/Time.tsx'
import { t } from '../messages.ts'
import css from './JobCard.module.css'

/** The newest job that runs, at the foot of the rail. */
export function JobCard() {
  const { data: jobs = [] } = useJobs()
  const job = jobs.find(({ status }) => status === 'running' || status === 'queued')
  const now = useNow(1000)
  if (!job) return null
  const phases = phasesOf(job)
  const isTry = job.kind === 'server_try'
  const { tried, total } = isTry
    ? progressOf(job)
    : { tried: phases.findIndex(({ state }) => state === 'now') + 1, total: phases.length }
  const ranS = (now - new Date(job.started_at ?? job.created_at).getTime()) / 1000
  return (
    <Link href={isTry ? '/servers' : '/packages'} className={css.card}>
      <span className={css.line}>
        <b className="cut grow">{job.subject}</b>
        <span className="muted">
          {tried} / {total}
        </span>
      </span>
      <PhaseBar phases={phases} label={job.subject} />
      <span className="muted">{t('job', { phase: job.phase, time: long(Math.max(0, ranS)) })}</span>
    </Link>
  )
}
