import { Tooltip } from '@mantine/core'
import { useServers } from '../../data/servers.ts'
import { count } from '../../format/format.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { Keys } from '../../parts/marks/Keys.tsx'
import css from './Logs.module.css'
import { t } from './messages.ts'
import type { Counts } from './Tools.tsx'
import { useShown, type View } from './use-view.ts'

interface Props {
  readonly view: View
  readonly counts: Counts
  readonly isSearching: boolean
  readonly servers: readonly string[]
}

/** How many lines there are, and what became of those that are not in view. */
export function Foot({ view, counts, isSearching, servers }: Props) {
  const { servers: known = [] } = useServers()
  const dropped = known
    .filter(({ id }) => servers.length === 0 || servers.includes(id))
    .reduce((sum, server) => sum + (server.type === 'stdio' ? server.log_lines_dropped : 0), 0)
  const { left } = useShown(view)
  const all = counts.all?.total ?? 0
  const matching = counts.matching?.total ?? 0
  const parts = [
    t('stored', { lines: count(all) }),
    t('folded', { lines: count(counts.all?.folded ?? 0) }),
    t('dropped', { lines: count(dropped) }),
  ]
  return (
    <footer className={css.foot}>
      <span className="strong" role="status">
        {isSearching
          ? t('match', { count: all, matching: count(matching), lines: count(all) })
          : t('count', { count: all, lines: count(all) })}
      </span>
      <span className="muted">{parts.join(' · ')}</span>
      {left > 0 && (
        <span className="row">
          <Tooltip label={t('leftWhy')}>
            <span className="warn">{t('left', { count: left, lines: count(left) })}</span>
          </Tooltip>
          <Act
            size="xs"
            onClick={() => {
              view.resume()
              void view.readAgain()
            }}
          >
            {t('readAgain')}
          </Act>
        </span>
      )}
      <span className={`muted wide-only ${css.keys}`}>
        <Keys of="w" /> {t('keyWrap')} <Keys of="t" /> {t('keyTimes')} <Keys of="Enter" /> {t('keyAround')}
      </span>
    </footer>
  )
}
