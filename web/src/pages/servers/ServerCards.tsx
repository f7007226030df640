import { Checkbox } from '@mantine/core'
import { Link } from 'wouter'
import { useNotices } from '../../data/notices.ts'
import type { Server } from '../../data/servers.ts'
import { duration, tokens } from '../../format/format.ts'
import { useGrowing } from '../../parts/content/use-growing.tsx'
import { PlaceMark } from '../../parts/isolation/PlaceMark.tsx'
import { StatusText } from '../../parts/marks/StatusText.tsx'
import { Tag } from '../../parts/marks/Tag.tsx'
import { causeOf, toolsNotice } from '../../parts/server/cause.ts'
import { CauseRow } from './CauseRow.tsx'
import { useDrawnSeries } from './data.ts'
import { t } from './messages.ts'
import { RowActions } from './RowActions.tsx'
import css from './ServerCards.module.css'
import { type ListProps, Users } from './ServerTable.tsx'

/** The same list for narrow screens. */
export function ServerCards({ servers, users, selected, onSelect }: ListProps) {
  const { data: notices } = useNotices()
  const { count, end } = useGrowing(servers.length)
  const drawn = servers.slice(0, count)
  const series = useDrawnSeries(drawn)
  return (
    <>
      <ul>
        {drawn.map((server) => {
          const cause = causeOf(server)
          return (
            <li key={server.id} className={css.card} data-selected={selected.has(server.id) || undefined}>
              <Checkbox
                aria-label={t('select', { name: server.name })}
                checked={selected.has(server.id)}
                onChange={({ currentTarget }) => onSelect([server.id], currentTarget.checked)}
              />
              <span className={css.head}>
                <Link href={`/servers/${server.id}`}>{server.name}</Link>
                <span className="muted sm">
                  {server.type} {server.type === 'stdio' && <PlaceMark confinement={server} />}
                </span>
                {toolsNotice(notices, server.id) && (
                  <Link href={`/servers/${server.id}?tab=tools`}>
                    <Tag tone="warn" glyph="look">
                      {t('toolsChanged')}
                    </Tag>
                  </Link>
                )}
              </span>
              <span className={css.status}>
                <StatusText server={server} />
              </span>
              <span className={`muted sm ${css.figures}`}>
                {figuresOf(server, series.get(server.id)?.latency_ms?.p95)}
              </span>
              <span className={css.end}>
                <span className="wide-only">
                  <Users names={users.get(server.id) ?? []} />
                </span>
                <RowActions server={server} />
              </span>
              {cause && (
                <div className={css.cause}>
                  <CauseRow server={server} cause={cause} />
                </div>
              )}
            </li>
          )
        })}
      </ul>
      {end}
    </>
  )
}

function figuresOf({ tool_count, tool_tokens }: Server, p95: number | null | undefined): string {
  if (tool_count === null) return t('notListed')
  const facts = { tools: t('tools', { count: tool_count }), tokens: tokens(tool_tokens) }
  const text = p95 ? t('cardFigures', { ...facts, p95: duration(p95) }) : t('cardTools', facts)
  return text.replace(/(?<!·) (?!·)/g, '\u00a0') // a line ends only between two figures
}
