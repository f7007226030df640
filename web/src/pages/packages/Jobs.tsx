import type { Job } from '../../data/api.ts'
import { useJobs } from '../../data/jobs.ts'
import { useSession } from '../../data/session.ts'
import { EmptyState } from '../../parts/states/EmptyState.tsx'
import { ErrorState, NeedsPermission } from '../../parts/states/ErrorState.tsx'
import { JobCard } from './JobCard.tsx'
import { t } from './messages.ts'
import css from './Packages.module.css'

const FINISHED = 3
const KINDS = ['package_install', 'package_update', 'image_pull']

/** What is installed, updated or pulled now, and the last that ended. The service keeps them, so a reload shows the same. */
export function Jobs() {
  const { mayChange } = useSession()
  const { data, error } = useJobs()
  const jobs = (data ?? []).filter(({ kind }) => KINDS.includes(kind))
  const running = jobs.filter(isRunning)
  const ended = jobs.filter((job) => !isRunning(job)).slice(0, FINISHED)
  return (
    <section className={css.jobs} aria-label={t('jobs')}>
      {!mayChange && <NeedsPermission />}
      {error && <ErrorState error={error} />}
      {[...running, ...ended].map((job) => (
        <JobCard key={job.id} job={job} />
      ))}
      {mayChange && data && jobs.length === 0 && (
        <div className="card">
          <EmptyState title={t('noJobs')} text={t('noJobsText')} />
        </div>
      )}
    </section>
  )
}

const isRunning = ({ status }: Job): boolean => status === 'running' || status === 'queued'
