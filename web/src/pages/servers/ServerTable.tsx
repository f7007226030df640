import { Checkbox } from '@mantine/core'
import { memo } from 'react'
import { Link } from 'wouter'
import type { ServerSeries } from '../../data/metrics.ts'
import { useNotices } from '../../data/notices.ts'
import type { Server } from '../../data/servers.ts'
import { bytes, duration, percent, share, tokens } from '../../format/format.ts'
import { Cell, Head, Table } from '../../parts/content/Table.tsx'
import { useGrowing } from '../../parts/content/use-growing.tsx'
import { PlaceMark } from '../../parts/isolation/PlaceMark.tsx'
import { Monogram } from '../../parts/marks/Tag.tsx'
import { causeOf, toolsNotice } from '../../parts/server/cause.ts'
import { CauseRow } from './CauseRow.tsx'
import { useDrawnSeries } from './data.ts'
import { t } from './messages.ts'
import { RowActions } from './RowActions.tsx'
import { RowStatus } from './RowStatus.tsx'
import css from './ServerTable.module.css'

export interface ListProps {
  readonly servers: readonly Server[]
  readonly users: ReadonlyMap<string, readonly string[]>
  readonly selected: ReadonlySet<string>
  readonly onSelect: (ids: readonly string[], on: boolean) => void
}

const NO_AGENTS: readonly string[] = []

export function ServerTable({ servers, users, selected, onSelect }: ListProps) {
  const { data: notices } = useNotices()
  const { count, end } = useGrowing(servers.length)
  const drawn = servers.slice(0, count)
  const series = useDrawnSeries(drawn)
  const picked = servers.filter(({ id }) => selected.has(id)).length
  return (
    <>
      <Table label={t('title')}>
        <thead>
          <tr>
            <Head width={44}>
              <Checkbox
                aria-label={t('selectAll')}
                checked={picked === servers.length}
                indeterminate={picked > 0 && picked < servers.length}
                onChange={({ currentTarget }) =>
                  onSelect(
                    servers.map(({ id }) => id),
                    currentTarget.checked,
                  )
                }
              />
            </Head>
            <Head width="15%">{t('name')}</Head>
            <Head>{t('status')}</Head>
            <Head width={78}>{t('kind')}</Head>
            <Head number width={74}>
              {t('toolsOn')}
            </Head>
            <Head number width={64}>
              {t('tokens')}
            </Head>
            <Head width={116}>{t('agents')}</Head>
            <Head number width={66}>
              {t('p95')}
            </Head>
            <Head number width={58}>
              {t('errors')}
            </Head>
            <Head number width={54}>
              {t('cpu')}
            </Head>
            <Head number width={70}>
              {t('memory')}
            </Head>
            <Head width={100} label={t('actions')} />
          </tr>
        </thead>
        <tbody>
          {drawn.map((server) => (
            <ServerRow
              key={server.id}
              server={server}
              series={series.get(server.id)}
              users={users.get(server.id) ?? NO_AGENTS}
              isSelected={selected.has(server.id)}
              hasChangedTools={toolsNotice(notices, server.id) !== undefined}
              onSelect={onSelect}
            />
          ))}
        </tbody>
      </Table>
      {end}
    </>
  )
}

interface RowProps {
  readonly server: Server
  readonly series: ServerSeries | undefined
  readonly users: readonly string[]
  readonly isSelected: boolean
  readonly hasChangedTools: boolean
  readonly onSelect: ListProps['onSelect']
}

const ServerRow = memo(
  function ServerRow({ server, series, users, isSelected, hasChangedTools, onSelect }: RowProps) {
    const cause = causeOf(server)
    const calls = series?.calls
    const resources = server.type === 'stdio' ? server.resources : null
    const isBad = calls !== undefined && calls.error_rate >= 0.05
    return (
      <>
        <tr className={`${css.row} ${cause ? css.hasCause : ''}`} data-selected={isSelected || undefined}>
          <Cell>
            <Checkbox
              aria-label={t('select', { name: server.name })}
              checked={isSelected}
              onChange={({ currentTarget }) => onSelect([server.id], currentTarget.checked)}
            />
          </Cell>
          <Cell className={css.name ?? ''}>
            <Link href={`/servers/${server.id}`}>{server.name}</Link>
          </Cell>
          <Cell>
            <RowStatus server={server} hasChangedTools={hasChangedTools} />
          </Cell>
          <Cell className="muted">
            {server.type} {server.type === 'stdio' && <PlaceMark confinement={server} />}
          </Cell>
          <Cell number>{toolsOn(server)}</Cell>
          <Cell number>{tokens(server.tool_tokens)}</Cell>
          <Cell>
            <Users names={users} />
          </Cell>
          <Cell number>{duration(series?.latency_ms?.p95)}</Cell>
          <Cell number className={isBad ? 'err strong' : ''}>
            {share(calls && calls.total > 0 ? calls.error_rate : null)}
          </Cell>
          <Cell number>{percent(resources?.cpu_pct)}</Cell>
          <Cell number>
            {server.type === 'http' ? (
              <span className="muted">{t('remote').toLowerCase()}</span>
            ) : (
              bytes(resources?.rss_bytes)
            )}
          </Cell>
          <Cell>
            <RowActions server={server} />
          </Cell>
        </tr>
        {cause && (
          <tr className={css.cause}>
            <td colSpan={12}>
              <CauseRow server={server} cause={cause} />
            </td>
          </tr>
        )}
      </>
    )
  },
  (before, after) =>
    before.server === after.server &&
    before.series === after.series &&
    before.isSelected === after.isSelected &&
    before.hasChangedTools === after.hasChangedTools &&
    before.users.join() === after.users.join(),
)

const SHOWN_USERS = 3

export function Users({ names }: { readonly names: readonly string[] }) {
  const more = names.length - SHOWN_USERS
  return (
    <span className={css.users}>
      {names.slice(0, SHOWN_USERS).map((name) => (
        <Monogram key={name} name={name} />
      ))}
      {more > 0 && (
        <span className="muted xs" title={names.slice(SHOWN_USERS).join(', ')}>
          +{more}
        </span>
      )}
      {names.length === 0 && '–'}
    </span>
  )
}

function toolsOn({ tool_count, tools }: Server) {
  if (tool_count === null) return '–'
  const off = Object.values(tools).filter(({ enabled }) => !enabled).length
  return (
    <>
      {Math.max(0, tool_count - off)}
      <span className="muted"> / {tool_count}</span>
    </>
  )
}
