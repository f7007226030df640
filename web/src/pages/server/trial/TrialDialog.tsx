import { Modal } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import type { StdioServer } from '../../../data/api.ts'
import {
  keepWalls,
  type Places,
  placeProblem,
  usePlaces,
  useTryWalls,
  type Walls,
  type WallsReport,
} from '../../../data/server/walls.ts'
import { useTools } from '../../../data/servers.ts'
import { Act } from '../../../parts/controls/Act.tsx'
import { showDone, showFailure, showUndo } from '../../../parts/controls/toasts.tsx'
import { ErrorState } from '../../../parts/states/ErrorState.tsx'
import { WallsFields } from '../../../parts/walls/WallsFields.tsx'
import { namesImage, notPaths } from '../../../parts/walls/walls.ts'
import { Calls } from './Calls.tsx'
import { type DraftCall, finished } from './calls.ts'
import { t } from './messages.ts'
import { Report } from './Report.tsx'
import css from './Trial.module.css'

interface Props {
  readonly server: StdioServer
  /** To begin with. */
  readonly walls: Walls
  readonly onClose: (hasKept: boolean) => void
}

/** Which walls a server needs is found by trying: run it, see what it was refused, open doors, keep what works. */
export function TrialDialog({ server, walls: first, onClose }: Props) {
  const [walls, setWalls] = useState<Walls>({
    ...first,
    isolation: first.isolation === 'none' ? 'sandbox' : first.isolation,
  })
  const [calls, setCalls] = useState<readonly DraftCall[]>([])
  const [isKeeping, setKeeping] = useState(false)
  const { data: known } = useTools(server)
  const trial = useTryWalls(server.id)
  const report = trial.data
  const ready = finished(calls)
  const { data: places } = usePlaces()
  const problem = problemOf(walls, server, places) ?? (ready ? undefined : t('fixCalls'))
  const isOutdated =
    report !== undefined && JSON.stringify(wallsOf(trial.variables)) !== JSON.stringify(wallsOf(walls))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    event.stopPropagation() // the form of the page is around it
    if (problem === undefined && ready && !trial.isPending) trial.mutate({ ...walls, calls: ready })
  }
  const keep = () => {
    setKeeping(true)
    keepWalls(server.id, walls).then(
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
        <WallsFields
          walls={walls}
          onlyWalls
          isPackage={server.package !== null}
          namesImage={namesImage(server.command, server.args)}
          onChange={setWalls}
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
            options={walls.isolation_options}
            onChange={(isolation_options) => setWalls({ ...walls, isolation_options })}
          />
        )}
        <div className={css.actions}>
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

const wallsOf = (walls: Walls | undefined) => walls && [walls.isolation, walls.isolation_options]

function problemOf(
  { isolation, isolation_options: options }: Walls,
  server: StdioServer,
  places: Places | undefined,
): string | undefined {
  if (notPaths([...options.write, ...options.read]).length > 0) return t('fixPaths')
  const needsImage = isolation === 'container' && !namesImage(server.command, server.args)
  return needsImage && options.image === null ? t('needsImage') : placeProblem(places, isolation)
}

/** Its former walls can be brought back for 10 s. */
function showKept(before: StdioServer): void {
  const { id, name } = before
  showUndo({
    title: t('kept', { name }),
    text: t('keptText'),
    onUndo: () => {
      keepWalls(id, before).then(() => showDone(t('undone', { name })), showFailure)
    },
  })
}
