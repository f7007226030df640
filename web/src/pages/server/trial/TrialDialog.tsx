import { Modal } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import type { StdioServer } from '../../../data/api.ts'
import {
  type Confinement,
  keepIsolation,
  type Places,
  placeProblem,
  usePlaces,
  useTryIsolation,
  type WallsReport,
} from '../../../data/server/isolation.ts'
import { useTools } from '../../../data/servers.ts'
import { Act } from '../../../parts/controls/Act.tsx'
import { showDone, showFailure, showUndo } from '../../../parts/controls/toasts.tsx'
import { IsolationFields } from '../../../parts/isolation/IsolationFields.tsx'
import { namesImage, notPaths } from '../../../parts/isolation/isolation.ts'
import { ErrorState } from '../../../parts/states/ErrorState.tsx'
import { Calls } from './Calls.tsx'
import { type DraftCall, finished } from './calls.ts'
import { t } from './messages.ts'
import { Report } from './Report.tsx'
import css from './Trial.module.css'

interface Props {
  readonly server: StdioServer
  /** To begin with. */
  readonly confinement: Confinement
  readonly onClose: (hasKept: boolean) => void
}

/** Which isolation a server needs is found by trying: run it, see what it was refused, grant paths, keep what works. */
export function TrialDialog({ server, confinement: first, onClose }: Props) {
  const [confinement, setConfinement] = useState<Confinement>({
    ...first,
    isolation: first.isolation === 'none' ? 'sandbox' : first.isolation,
  })
  const [calls, setCalls] = useState<readonly DraftCall[]>([])
  const [isKeeping, setKeeping] = useState(false)
  const { data: known } = useTools(server)
  const trial = useTryIsolation(server.id)
  const report = trial.data
  const ready = finished(calls)
  const { data: places } = usePlaces()
  const problem = problemOf(confinement, server, places) ?? (ready ? undefined : t('fixCalls'))
  const isOutdated =
    report !== undefined &&
    JSON.stringify(confinementOf(trial.variables)) !== JSON.stringify(confinementOf(confinement))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    event.stopPropagation() // the form of the page is around it
    if (problem === undefined && ready && !trial.isPending) trial.mutate({ ...confinement, calls: ready })
  }
  const keep = () => {
    setKeeping(true)
    keepIsolation(server.id, confinement).then(
      () => {
        showKept(server)
        onClose(true)
      },
      (error) => {
        setKeeping(false)
        showFailure(error)
      },
    )
  }
  return (
    <Modal opened onClose={() => onClose(false)} title={t('title', { name: server.name })} size={680}>
      <form className={css.form} onSubmit={submit}>
        <p className="muted">{t('lead')}</p>
        <IsolationFields
          confinement={confinement}
          onlyIsolated
          isPackage={server.package !== null}
          namesImage={namesImage(server.command, server.args)}
          onChange={setConfinement}
        />
        <Calls
          tools={report?.tools.length ? report.tools : (known?.items ?? [])}
          calls={calls}
          onChange={setCalls}
        />
        {trial.error && <ErrorState error={trial.error} />}
        {report && !trial.isPending && (
          <Report
            report={report}
            options={confinement.isolation_options}
            onChange={(isolation_options) => setConfinement({ ...confinement, isolation_options })}
          />
        )}
        <div className="dialog-foot">
          <span className={`${css.status} ${isOutdated ? 'info' : 'muted'} sm`} role="status">
            {trial.isPending ? t('trying') : isOutdated ? t('outdated') : report && summaryOf(report)}
          </span>
          <Act look="quiet" size="md" onClick={() => onClose(false)}>
            {t('close')}
          </Act>
          <Act
            size="md"
            look={report && !isOutdated ? 'plain' : 'main'}
            type="submit"
            changes
            busy={trial.isPending}
            blocked={problem}
          >
            {report ? t('tryAgain') : t('try')}
          </Act>
          <Act
            size="md"
            look={report && !isOutdated ? 'main' : 'plain'}
            changes
            busy={isKeeping}
            blocked={problem ?? (report ? undefined : t('notTried'))}
            onClick={keep}
          >
            {t('keep')}
          </Act>
        </div>
      </form>
    </Modal>
  )
}

function summaryOf({ ok, refused, lost_file_count: lost }: WallsReport): string {
  if (!ok && refused.length === 0) return t('notStarted')
  const tried = t('tried', { count: refused.filter(({ seen_in }) => seen_in === 'errors').length })
  return lost === 0 ? tried : t('triedLost', { tried, count: lost })
}

const confinementOf = (confinement: Confinement | undefined) =>
  confinement && [confinement.isolation, confinement.isolation_options]

function problemOf(
  { isolation, isolation_options: options }: Confinement,
  server: StdioServer,
  places: Places | undefined,
): string | undefined {
  if (notPaths([...options.write, ...options.read]).length > 0) return t('fixPaths')
  const needsImage = isolation === 'container' && !namesImage(server.command, server.args)
  return needsImage && options.image === null ? t('needsImage') : placeProblem(places, isolation)
}

/** Its former isolation can be brought back for 10 s. */
function showKept(before: StdioServer): void {
  const { id, name } = before
  showUndo({
    title: t('kept', { name }),
    text: t('keptText'),
    onUndo: () => {
      keepIsolation(id, before).then(() => showDone(t('undone', { name })), showFailure)
    },
  })
}
