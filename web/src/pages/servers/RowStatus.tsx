import { Tooltip } from '@mantine/core'
import { Link } from 'wouter'
import type { Server } from '../../data/servers.ts'
import { long } from '../../format/format.ts'
import { StatusText } from '../../parts/marks/StatusText.tsx'
import { Tag } from '../../parts/marks/Tag.tsx'
import { useNow } from '../../parts/marks/Time.tsx'
import { t } from './messages.ts'
import css from './ServerTable.module.css'

interface Props {
  readonly server: Server
  readonly hasChangedTools: boolean
}

/** The status, since when or until when, and whether the tools have changed. */
export function RowStatus({ server, hasChangedTools }: Props) {
  return (
    <span className={css.status}>
      {server.type === 'stdio' && (server.started_at ?? server.next_retry_at) !== null ? (
        <Timed server={server} />
      ) : (
        <StatusText server={server} detail={exitOf(server)} />
      )}
      {hasChangedTools && (
        <Tooltip label={t('toolsChanged')}>
          <Link href={`/servers/${server.id}?tab=tools`} className={css.changed}>
            <Tag tone="warn" glyph="look">
              <span>{t('toolsChanged')}</span>
            </Tag>
          </Link>
        </Tooltip>
      )}
    </span>
  )
}

function Timed({ server }: { readonly server: Extract<Server, { type: 'stdio' }> }) {
  const now = useNow(1000)
  const { started_at, next_retry_at } = server
  if (next_retry_at !== null) {
    const left = Math.ceil((Date.parse(next_retry_at) - now) / 1000)
    const time = left > 0 ? long(left) : t('now')
    return (
      <span className={css.status} title={t('nextTry', { time })}>
        <StatusText server={server} detail={exitOf(server)} />
      </span>
    )
  }
  const since = long(Math.max(0, (now - Date.parse(started_at ?? '')) / 1000))
  const isDegraded = server.health.level === 'degraded'
  return <StatusText server={server} detail={isDegraded ? `${t('running')} ${since}` : since} />
}

function exitOf(server: Server): string | undefined {
  if (server.type === 'http' || !server.last_exit || !['backoff', 'failed'].includes(server.status)) return
  const { code, signal } = server.last_exit
  return signal ?? t('exit', { code: code ?? 0 })
}
