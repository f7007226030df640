import { useWrites } from '../../data/agent-files.ts'
import { useSession } from '../../data/session.ts'
import { seconds } from '../../format/format.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { Tag } from '../../parts/marks/Tag.tsx'
import { Time } from '../../parts/marks/Time.tsx'
import { ErrorState, NeedsPermission } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import css from './Agent.module.css'
import { t } from './messages.ts'

interface Props {
  readonly agentType: string
  readonly onUndo: (title: string, backupId: string) => void
}

const DONE = {
  set: 'set',
  remove: 'remove',
  undo: 'undone',
  restore: 'restored',
  foreign_edit: 'foreign_edit',
} as const

/** `added github; removed slack`. What an earlier version wrote has only the names. */
function doneBy({ action, names, scope, changes }: Write): string {
  if (changes.length === 0 || action === 'foreign_edit')
    return t(DONE[action], { names: names.join(', ') || scope })
  const kinds = [...new Set(changes.map(({ what }) => what))]
  const what = kinds
    .map((kind) => {
      const those = changes.flatMap((change) => (change.what === kind ? [change.name] : []))
      return t(kind, { names: those.join(', ') })
    })
    .join('; ')
  return action === 'undo' ? t('undoOf', { what }) : what
}
type Write = NonNullable<ReturnType<typeof useWrites>['data']>[number]

/** What Toolroom wrote, newest first. Each write can be undone. */
export function History({ agentType, onUndo }: Props) {
  const { mayChange } = useSession()
  const { data: writes, error } = useWrites(agentType)
  return (
    <section className="card" aria-label={t('history')}>
      <div className="card-head">
        <h2>{t('history')}</h2>
      </div>
      {!mayChange && (
        <div className={css.inside}>
          <NeedsPermission />
        </div>
      )}
      {error && (
        <div className={css.inside}>
          <ErrorState error={error} />
        </div>
      )}
      {mayChange && !writes && !error && <Skeleton rows={3} />}
      {writes?.length === 0 && <p className={`muted ${css.inside}`}>{t('noHistory')}</p>}
      <ul>
        {writes?.map((write) => {
          const { id, ts, action, current } = write
          return (
            <li key={id} className={css.entry}>
              <span className="muted">
                <Time at={ts} />
              </span>
              <span className="grow">{doneBy(write)}</span>
              {current && <Tag>{t('current')}</Tag>}
              {action !== 'foreign_edit' && (
                <Act
                  size="xs"
                  icon="undo"
                  changes
                  onClick={() => onUndo(t('undoTitle', { at: seconds(ts) }), id)}
                >
                  {t('undo')}
                </Act>
              )}
            </li>
          )
        })}
      </ul>
    </section>
  )
}
