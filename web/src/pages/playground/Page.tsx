import { useEffect, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { api, type Schemas } from '../../data/api.ts'
import { useCall } from '../../data/calls.ts'
import { type SavedCall, useSavedCalls } from '../../data/playground/saved-calls.ts'
import { type Server, useServers, useTools } from '../../data/servers.ts'
import { seconds } from '../../format/format.ts'
import { useKeys } from '../../keyboard/keys.ts'
import { PageHead } from '../../parts/content/PageHead.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { showFailure } from '../../parts/controls/toasts.tsx'
import { EmptyState } from '../../parts/states/EmptyState.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { number, oneOf, searchState, text, useSearchState } from '../../url/search-state.ts'
import { CallPanel, VIEWS } from './CallPanel.tsx'
import { t } from './messages.ts'
import css from './Playground.module.css'
import { ResultPanel, TABS } from './result/ResultPanel.tsx'
import { SampleStrip } from './SampleStrip.tsx'
import { ToolPicker } from './ToolPicker.tsx'
import { useRun } from './use-run.ts'

const search = searchState({
  server: text(),
  tool: text(),
  view: oneOf(VIEWS, 'form'),
  result: oneOf(TABS, 'content'),
  /** A saved call, or an earlier one, whose arguments are filled in. */
  saved: text(),
  replay: number(),
  /** Arguments that are filled in. */
  args: text(),
})

export function Page() {
  const { servers, error } = useServers()
  const [{ server: id }] = useSearchState(search)
  const [, navigate] = useLocation()
  const server = servers?.find((each) => each.id === id) ?? firstOf(servers)
  return (
    <div className={css.playground}>
      <div className={css.top}>
        <PageHead title={t('title')} count={<span className={css.subtitle}>{t('subtitle')}</span>} />
        {server && <SampleStrip server={server.id} />}
      </div>
      {error && <ErrorState error={error} />}
      {!servers && !error && <Skeleton rows={8} />}
      {servers?.length === 0 && (
        <EmptyState title={t('noServers')} text={t('noServersText')}>
          <Act look="main" onClick={() => navigate('/servers?add=1')}>
            {t('addServer')}
          </Act>
        </EmptyState>
      )}
      {servers && server && <Bench key={server.id} servers={servers} server={server} />}
    </div>
  )
}

const firstOf = (servers: readonly Server[] | undefined): Server | undefined =>
  servers?.find(({ status }) => status === 'running' || status === 'connected') ?? servers?.[0]

interface BenchProps {
  readonly servers: readonly Server[]
  readonly server: Server
}

function Bench({ servers, server }: BenchProps) {
  const [{ tool: name, view, result, saved, replay, args: filled }, setSearch] = useSearchState(search)
  const tools = useTools(server)
  const { run, start, cancel, answered } = useRun()
  const [isStarting, setStarting] = useState(false)
  const tool = tools.data?.items.find((each) => each.name === name)
  const given = useGiven(saved, replay, filled)
  const route = server.type === 'http' ? 'http-servers' : 'servers'
  const isRunning = run?.state === 'running'
  useKeys(t('title'), { Escape: { does: t('stop'), run: cancel } }, isRunning)
  useEscape(cancel, isRunning)

  const begin = async (args: string) => {
    try {
      if (server.type === 'stdio' && ['stopped', 'failed'].includes(server.status)) {
        setStarting(true)
        await api().post('/api/servers/{id}/start', { path: { id: server.id } })
      }
      void start({ route, server: server.id, tool: name }, args)
    } catch (error) {
      showFailure(error)
    } finally {
      setStarting(false)
    }
  }
  const choose = (next: { server?: string; tool: string; saved?: string; replay?: number }) =>
    setSearch({ server: server.id, saved: '', replay: undefined, args: '', ...next }, { push: true })
  return (
    <div className={css.bench}>
      <ToolPicker
        servers={servers}
        server={server}
        tools={tools.data?.items}
        tool={name}
        onServer={(next) => choose({ server: next, tool: '' })}
        onTool={(next) => choose({ tool: next })}
        onSaved={({ id, server_id, tool: of }) => choose({ server: server_id, tool: of, saved: id })}
        onReplay={({ id, server_id, tool: of }) =>
          choose({ server: server_id ?? server.id, tool: of, replay: id })
        }
      />
      {tool ? (
        <CallPanel
          key={tool.hash}
          server={server}
          tool={tool}
          view={view}
          onView={(next) => setSearch({ view: next })}
          given={given}
          isRunning={isRunning || isStarting}
          onRun={begin}
        />
      ) : (
        <section className={css.panel} aria-label={t('arguments')}>
          {tools.error ? (
            <div className={css.body}>
              <ErrorState error={tools.error} onRetry={() => tools.refetch()} />
            </div>
          ) : tools.isPending ? (
            <Skeleton rows={6} />
          ) : (
            <div className={css.empty}>
              <EmptyState title={t('choose')} text={t('chooseText')} />
            </div>
          )}
        </section>
      )}
      <ResultPanel
        run={run}
        appUri={tools.data?.items.find((each) => each.name === run?.target.tool)?.app_uri ?? null}
        tab={result}
        onTab={(next) => setSearch({ result: next })}
        onCancel={cancel}
        onAgain={() => run && void start(run.target, run.args)}
        onAnswered={answered}
      />
    </div>
  )
}

/** Escape cancels also while the focus is in a field. */
function useEscape(run: () => void, enabled: boolean): void {
  useEffect(() => {
    if (!enabled) return
    const onKey = ({ key }: KeyboardEvent) => key === 'Escape' && run()
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [run, enabled])
}

/** The arguments of a saved or an earlier call, and what must be said about them. */
function useGiven(saved: string, replay: number | undefined, filled: string) {
  const { data: calls } = useSavedCalls()
  const { data: call } = useCall(replay)
  return useMemo(() => {
    const kept: SavedCall | undefined = calls?.find(({ id }) => id === saved)
    if (kept) return { key: `saved-${saved}`, value: kept.arguments }
    if (filled !== '') return { key: `args-${filled}`, value: parsed(filled) }
    return call && replayOf(call)
  }, [calls, call, saved, filled])
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // nothing is filled in
  }
}

function replayOf(call: Schemas['CallDetail']) {
  const key = `replay-${call.id}`
  if (call.payload_state === 'not_kept' || typeof call.arguments === 'string')
    return { key, value: undefined, note: t('notKept') }
  const isMasked = JSON.stringify(call.arguments)?.includes('***') ?? false
  const said = t('replayed', { at: seconds(call.started_at) })
  return { key, value: call.arguments ?? {}, note: isMasked ? `${said} ${t('redacted')}` : said }
}
