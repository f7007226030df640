import { useLocation } from 'wouter'
import type { Job } from '../../data/api.ts'
import { phasesOf } from '../../data/job-phases.ts'
import { useCancelJob } from '../../data/jobs.ts'
import { usePackages } from '../../data/packages.ts'
import { duration } from '../../format/format.ts'
import { PhaseBar } from '../../parts/charts/PhaseBar.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { showFailure } from '../../parts/controls/toasts.tsx'
import { Glyph, type GlyphName } from '../../parts/marks/Glyph.tsx'
import { Tag } from '../../parts/marks/Tag.tsx'
import { useNow } from '../../parts/marks/Time.tsx'
import { CauseStrip } from '../../parts/states/CauseStrip.tsx'
import { t } from './messages.ts'
import { NpxServers } from './NpxServers.tsx'
import css from './Packages.module.css'
import { phaseName, phaseText } from './phases.ts'
import { Waiting } from './Waiting.tsx'

/** A job: its phases with their times, the output of npm, how it ended, and what to do next. */
export function JobCard({ job }: { readonly job: Job }) {
  const isOver = job.finished_at !== null
  const phases = phasesOf(job)
  const title = titleOf(job)
  const isWaiting = !isOver && job.phase === 'waiting'
  return (
    <article className={`card ${css.job}`} aria-label={title}>
      <div className={css.jobHead}>
        <h2 className="cut">{title}</h2>
        <span className="right sm muted">
          <Elapsed from={job.started_at} to={job.finished_at} />
        </span>
      </div>
      {job.status !== 'done' && <PhaseBar phases={phases} label={title} />}
      {isWaiting && <Waiting job={job} />}
      {!isOver && !isWaiting && <Phases job={job} />}
      {job.status === 'failed' && (
        <CauseStrip tone="err" sentence={job.error?.message ?? title} evidence={job.error?.hint} />
      )}
      {job.status === 'done' && <Outcome job={job} />}
    </article>
  )
}

const GLYPHS: Readonly<Record<string, GlyphName>> = {
  done: 'tick',
  now: 'work',
  later: 'stop',
  failed: 'err',
  look: 'look',
}
const TONES: Readonly<Record<string, string>> = { done: 'ok', now: 'info', later: 'idle', failed: 'err' }

function Phases({ job }: { readonly job: Job }) {
  const cancel = useCancelJob()
  const output = job.output.slice(-3)
  return (
    <>
      <ol className={css.phases}>
        {phasesOf(job).map(({ name, state }) => {
          const begun = job.phases.find((phase) => phase.name === name)
          return (
            <li key={name} className={css.phase} data-state={state}>
              <span className={TONES[state]}>
                <Glyph name={GLYPHS[state] ?? 'stop'} />
              </span>
              <span className={css.phaseName}>{phaseName(name)}</span>
              <span className="muted cut">{phaseText(name, job.kind)}</span>
              <span className="num">
                {begun && <Elapsed from={begun.started_at} to={begun.finished_at} />}
              </span>
            </li>
          )
        })}
      </ol>
      {output.length > 0 && (
        <pre className={css.output} role="log" aria-live="off" aria-label={t('output')}>
          {output.join('\n')}
        </pre>
      )}
      <div className={css.jobFoot}>
        <span className="muted sm grow">{t('goesOn')}</span>
        <Act
          look="quiet"
          changes
          busy={cancel.isPending}
          onClick={() => cancel.mutate(job.id, { onError: (error) => showFailure(error) })}
        >
          {t('cancelJob')}
        </Act>
      </div>
    </>
  )
}

interface Result {
  readonly version?: string
  readonly server?: { readonly id: string; readonly error: string | null } | null
}

function Outcome({ job }: { readonly job: Job }) {
  const [, navigate] = useLocation()
  const { version, server } = (job.result ?? {}) as Result
  const { data: packages = [] } = usePackages()
  const installed = packages.find(({ name }) => name === job.subject)
  return (
    <>
      {installed && <NpxServers name={installed.name} servers={installed.npx_servers} />}
      {server?.error && <CauseStrip tone="warn" sentence={t('serverFailed')} evidence={server.error} />}
      <div className={css.jobFoot}>
        <Tag tone="ok" glyph="tick">
          {version ?? (job.kind === 'image_pull' ? t('isPulled') : t('isInstalled'))}
        </Tag>
        {server && (
          <span className={css.next}>
            <Act size="xs" onClick={() => navigate(`/servers/${server.id}`)}>
              {t('openServer', { name: server.id })}
            </Act>
            <Act size="xs" look="quiet" onClick={() => navigate('/agents')}>
              {t('chooseAgents')}
            </Act>
          </span>
        )}
      </div>
    </>
  )
}

function titleOf({ kind, subject: name, status }: Job): string {
  const isUpdate = kind === 'package_update'
  if (kind === 'image_pull' && status !== 'cancelled')
    return t(status === 'done' ? 'pulledJob' : status === 'failed' ? 'notPulledJob' : 'pulling', { name })
  if (status === 'done') return isUpdate ? t('updatedJob', { name }) : t('installedJob', { name })
  if (status === 'failed') return t('failedJob', { name })
  if (status === 'cancelled') return t('cancelledJob', { name })
  return isUpdate ? t('updating', { name }) : t('installing', { name })
}

function Elapsed({ from, to }: { readonly from: string | null; readonly to: string | null }) {
  const now = useNow(500)
  if (from === null) return <>{t('queued')}</>
  return <>{duration(Math.max(0, (to === null ? now : Date.parse(to)) - Date.parse(from)))}</>
}
