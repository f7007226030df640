import { Checkbox, TextInput } from '@mantine/core'
import { useToolMetrics } from '../../../data/metrics.ts'
import { useNotices } from '../../../data/notices.ts'
import { restoreTools, switchTools, type Tool } from '../../../data/server/server-changes.ts'
import { type Server, useServerAction, useTools } from '../../../data/servers.ts'
import { seconds, tokens } from '../../../format/format.ts'
import { Act } from '../../../parts/controls/Act.tsx'
import { showFailure, showUndo } from '../../../parts/controls/toasts.tsx'
import { Icon } from '../../../parts/marks/icons.tsx'
import { toolsNotice } from '../../../parts/server/cause.ts'
import { EmptyState } from '../../../parts/states/EmptyState.tsx'
import { ErrorState } from '../../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../../parts/states/Skeleton.tsx'
import { useSearchState } from '../../../url/search-state.ts'
import { search } from '../search.ts'
import { Changes } from './Changes.tsx'
import { t } from './messages.ts'
import css from './Tools.module.css'
import { ToolTable } from './ToolTable.tsx'

/** What it offers, what that costs, what is used, and what has changed. */
export function ToolsTab({ server }: { readonly server: Server }) {
  const [{ q, unused }, setSearch] = useSearchState(search)
  const isListed = server.tool_count !== null
  const { data, error } = useTools(server, isListed)
  const { data: figures } = useToolMetrics('7d', server.id)
  const { data: notices } = useNotices()
  const action = useServerAction()
  if (!isListed)
    return (
      <section className="card" aria-label={t('title')}>
        <EmptyState title={t('unlisted')} text={t('unlistedText')}>
          {server.type === 'stdio' && (
            <Act look="main" changes onClick={() => action.mutate({ id: server.id, action: 'start' })}>
              {t('start')}
            </Act>
          )}
        </EmptyState>
      </section>
    )
  if (error) return <ErrorState error={error} />
  if (!data)
    return (
      <section className="card" aria-label={t('title')}>
        <Skeleton rows={6} height={48} />
      </section>
    )
  const called = new Set(figures?.map(({ tool }) => tool))
  const words = q.toLowerCase()
  const shown = data.items.filter(
    (tool) => textOf(tool).includes(words) && !(unused && (called.has(tool.name) || !tool.enabled)),
  )
  const on = data.items.filter(({ enabled }) => enabled)
  const notice = toolsNotice(notices, server.id)
  const sum = on.reduce((total, tool) => total + tool.tokens, 0)
  return (
    <div className={css.column}>
      <Changes server={server} tools={data.items} notice={notice} />
      <div className={css.bar}>
        <TextInput
          className={css.filter ?? ''}
          aria-label={t('filter')}
          placeholder={t('filter')}
          leftSection={<Icon name="search" />}
          value={q}
          onChange={({ currentTarget }) => setSearch({ q: currentTarget.value })}
          data-filter
        />
        <Checkbox
          label={t('unused')}
          checked={unused}
          onChange={({ currentTarget }) => setSearch({ unused: currentTarget.checked })}
        />
        {unused && shown.length > 0 && (
          <Act
            size="xs"
            changes
            onClick={() =>
              switchOff(
                server,
                shown.map(({ name }) => name),
              )
            }
          >
            {t('switchOff', { count: shown.length })}
          </Act>
        )}
        <span className="right muted sm">
          {t('offered', { on: on.length, count: data.items.length, tokens: tokens(sum) })}
        </span>
      </div>
      <section className={`card ${css.scroll}`} aria-label={t('title')}>
        {shown.length === 0 ? (
          <EmptyState title={t('none')} text={t('noneText')} />
        ) : (
          <ToolTable server={server} tools={shown} figures={figures ?? []} />
        )}
      </section>
      {data.source === 'cache' && (
        <p className="muted sm">{t('fromCache', { time: seconds(data.fetched_at) })}</p>
      )}
      {server.type === 'stdio' && server.sharing === 'auto' && server.sharing_reason !== null && (
        <p className="muted sm">{t('learned', { reason: server.sharing_reason })}</p>
      )}
      {data.truncated && <p className="warn sm">{t('truncated')}</p>}
    </div>
  )
}

const textOf = ({ name, title, description }: Tool): string =>
  `${name} ${title ?? ''} ${description ?? ''}`.toLowerCase()

function switchOff(server: Server, names: readonly string[]): void {
  const onError = (error: unknown) => showFailure(error)
  switchTools(server, names, false).then(
    () =>
      showUndo({
        title: t('switchedOff', { count: names.length }),
        text: t('atOnce'),
        onUndo: () => void restoreTools(server).catch(onError),
      }),
    onError,
  )
}
