import { Tabs } from '@mantine/core'
import { useLocation, useParams } from 'wouter'
import { useLogHistogram } from '../../data/logs.ts'
import { useLeaving } from '../../data/server/removals.ts'
import { type Server, useServer } from '../../data/servers.ts'
import { useKeys } from '../../keyboard/keys.ts'
import { usePageTitle } from '../../parts/content/PageHead.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { EmptyState } from '../../parts/states/EmptyState.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { useSearchState } from '../../url/search-state.ts'
import { AgentsTab } from './AgentsTab.tsx'
import { ConfigTab } from './config/ConfigTab.tsx'
import { Header } from './Header.tsx'
import { LogsTab } from './LogsTab.tsx'
import { t } from './messages.ts'
import { Overview } from './overview/Overview.tsx'
import css from './Server.module.css'
import { search, TABS } from './search.ts'
import { TrafficTab } from './TrafficTab.tsx'
import { ToolsTab } from './tools/ToolsTab.tsx'

export function Page() {
  const { id = '' } = useParams<{ id: string }>()
  const { server, error } = useServer(id)
  const leaving = useLeaving()
  usePageTitle(server?.name ?? id)
  if (error) return <Framed>{<ErrorState error={error} />}</Framed>
  if (server === undefined)
    return (
      <Framed>
        <section className="card" aria-label={t('overview')}>
          <Skeleton rows={8} />
        </section>
      </Framed>
    )
  if (server === null || leaving.has(id)) return <Gone isLeaving={server !== null} />
  return <Detail key={id} server={server} />
}

const PANELS = {
  overview: Overview,
  tools: ToolsTab,
  traffic: TrafficTab,
  logs: LogsTab,
  config: ConfigTab,
  agents: AgentsTab,
} as const

function Detail({ server }: { readonly server: Server }) {
  const [{ tab }, setSearch] = useSearchState(search)
  const counts = useCounts(server)
  const show = (next: (typeof TABS)[number]) => setSearch({ tab: next, field: '' }, { push: true })
  useKeys(
    server.name,
    Object.fromEntries(
      TABS.map((name, index) => [
        String(index + 1),
        { does: t('showTab', { tab: t(name) }), run: () => show(name) },
      ]),
    ),
  )
  const Panel = PANELS[tab]
  return (
    <div className="page">
      <Header server={server} />
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(value) => show(TABS.find((name) => name === value) ?? 'overview')}
      >
        <Tabs.List aria-label={t('tabs')} className={css.tabs ?? ''}>
          {TABS.map((name, index) => (
            <Tabs.Tab key={name} value={name} title={t('tabKey', { key: index + 1 })}>
              <span className={css.tab}>
                {t(name)}
                {counts[name] && <span className="xs muted">{counts[name]}</span>}
              </span>
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={tab} className={css.panel ?? ''}>
          <Panel server={server} />
        </Tabs.Panel>
      </Tabs>
    </div>
  )
}

/** Beside the names of the tabs. */
function useCounts(server: Server): Partial<Record<(typeof TABS)[number], string>> {
  const { data } = useLogHistogram({ server_id: [server.id], level: 'error' })
  const users = server.used_by_agents.length
  return {
    ...(server.tool_count !== null && { tools: String(server.tool_count) }),
    ...(data && data.total > 0 && { logs: t('errors', { count: data.total }) }),
    ...(users > 0 && { agents: String(users) }),
  }
}

function Framed({ children }: { readonly children: React.ReactNode }) {
  return <div className="page">{children}</div>
}

function Gone({ isLeaving }: { readonly isLeaving: boolean }) {
  const [, navigate] = useLocation()
  return (
    <Framed>
      <EmptyState title={isLeaving ? t('leaving') : t('notFound')} text={t('notFoundText')}>
        <Act look="main" onClick={() => navigate('/servers')}>
          {t('allServers')}
        </Act>
      </EmptyState>
    </Framed>
  )
}
