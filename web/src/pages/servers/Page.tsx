import { TextInput } from '@mantine/core'
import { useDeferredValue, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { useLeaving } from '../../data/server/removals.ts'
import { type Server, useServers } from '../../data/servers.ts'
import { useKeys } from '../../keyboard/keys.ts'
import { PageHead } from '../../parts/content/PageHead.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { Seg } from '../../parts/controls/Seg.tsx'
import type { Tone } from '../../parts/marks/Glyph.tsx'
import { Icon } from '../../parts/marks/icons.tsx'
import { Keys } from '../../parts/marks/Keys.tsx'
import { causeOf } from '../../parts/server/cause.ts'
import { TryAll } from '../../parts/server/TryAll.tsx'
import { EmptyState } from '../../parts/states/EmptyState.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { flag, oneOf, searchState, text, useSearchState } from '../../url/search-state.ts'
import { AddServer } from './add/AddServer.tsx'
import { BulkBar } from './BulkBar.tsx'
import { useNarrow, useToolNames, useUsers } from './data.ts'
import { hasState, matches, parseFilter, STATES } from './filter.ts'
import { t } from './messages.ts'
import { ServerCards } from './ServerCards.tsx'
import css from './Servers.module.css'
import { ServerTable } from './ServerTable.tsx'

const KINDS = ['all', 'local', 'remote'] as const
const search = searchState({ q: text(), kind: oneOf(KINDS, 'all'), state: oneOf(STATES, 'any'), add: flag() })

export function Page() {
  const [{ add }, setSearch] = useSearchState(search)
  const { servers: all, error } = useServers()
  const leaving = useLeaving()
  const servers = useMemo(() => all?.filter(({ id }) => !leaving.has(id)), [all, leaving])
  const setAdd = (open: boolean) => setSearch({ add: open })
  useKeys(t('title'), { n: { does: t('addServer'), run: () => setAdd(true) } })
  return (
    <div className="page">
      <PageHead title={t('title')} count={servers?.length}>
        {servers && <TryAll servers={servers} />}
        <Act look="main" icon="plus" changes onClick={() => setAdd(true)}>
          {t('addServer')}
        </Act>
      </PageHead>
      {error && <ErrorState error={error} />}
      {!servers && !error && (
        <section className="card" aria-label={t('title')}>
          <Skeleton rows={8} />
        </section>
      )}
      {servers?.length === 0 && <NoServers onAdd={() => setAdd(true)} />}
      {servers && servers.length > 0 && <Listed servers={servers} />}
      {add && <AddServer onClose={() => setAdd(false)} />}
    </div>
  )
}

function Listed({ servers }: { readonly servers: readonly Server[] }) {
  const [{ q, kind, state }, setSearch] = useSearchState(search)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const users = useUsers()
  const isNarrow = useNarrow()
  const filter = useMemo(() => parseFilter(q), [q])
  const toolNames = useToolNames(servers, filter.tools.length > 0)
  const ofKind = (server: Server, wanted: (typeof KINDS)[number]) =>
    wanted === 'all' || (server.type === 'stdio') === (wanted === 'local')
  const sorted = useMemo(() => worstFirst(servers), [servers])
  const shown = sorted.filter(
    (server) =>
      ofKind(server, kind) &&
      hasState(server, state) &&
      matches(server, filter, { agents: users.get(server.id) ?? [], tools: toolNames.get(server.id) ?? [] }),
  )
  const rows = useDeferredValue(shown)
  const chosen = shown.filter(({ id }) => selected.has(id))
  const count = (test: (server: Server) => boolean) => servers.filter(test).length
  const select = (ids: readonly string[], on: boolean) =>
    setSelected((before) => {
      const rest = [...before].filter((id) => !ids.includes(id))
      return new Set(on ? [...rest, ...ids] : rest)
    })
  const list = { servers: rows, users, selected, onSelect: select }
  return (
    <>
      <div className={css.tools}>
        <TextInput
          className={css.filter}
          aria-label={t('filterLabel')}
          placeholder={t('filter')}
          leftSection={<Icon name="search" />}
          rightSection={<Keys of="/" />}
          value={q}
          onChange={({ currentTarget }) => setSearch({ q: currentTarget.value })}
          data-filter
        />
        <Seg
          label={t('kind')}
          value={kind}
          options={[
            { value: 'all', label: t('all'), count: servers.length },
            { value: 'local', label: t('local'), count: count((server) => ofKind(server, 'local')) },
            { value: 'remote', label: t('remote'), count: count((server) => ofKind(server, 'remote')) },
          ]}
          onChange={(next) => setSearch({ kind: next })}
        />
        <span className="wide-only">
          <Seg
            label={t('state')}
            value={state}
            options={[
              { value: 'any', label: t('anyState') },
              { value: 'needs', label: t('needsYou'), count: count((server) => hasState(server, 'needs')) },
              {
                value: 'running',
                label: t('running'),
                count: count((server) => hasState(server, 'running')),
              },
            ]}
            onChange={(next) => setSearch({ state: next })}
          />
        </span>
        <span className={`right muted sm ${css.figures}`}>{t('figures')}</span>
      </div>
      <section className={`card ${css.list}`} aria-label={t('title')}>
        {shown.length === 0 && (
          <EmptyState title={t('none')} text={t('noneText')}>
            <Act onClick={() => setSearch({ q: '', kind: 'all', state: 'any' })}>{t('clear')}</Act>
          </EmptyState>
        )}
        {shown.length > 0 && (isNarrow ? <ServerCards {...list} /> : <ServerTable {...list} />)}
      </section>
      {chosen.length > 0 && <BulkBar servers={chosen} onClear={() => setSelected(new Set())} />}
    </>
  )
}

/** What does not work is on top, then what is not well. The others keep the order of their names. */
function worstFirst(servers: readonly Server[]): readonly Server[] {
  const tones = new Map(servers.map((server) => [server, causeOf(server)?.tone]))
  const of = (wanted: Tone | undefined) => servers.filter((server) => tones.get(server) === wanted)
  return [...of('err'), ...of('warn'), ...of(undefined)]
}

function NoServers({ onAdd }: { readonly onAdd: () => void }) {
  const [, navigate] = useLocation()
  return (
    <section className="card" aria-label={t('title')}>
      <EmptyState title={t('empty')} text={t('emptyText')}>
        <Act look="main" changes onClick={onAdd}>
          {t('addServer')}
        </Act>
        <Act look="quiet" onClick={() => navigate('/welcome')}>
          {t('findAgents')}
        </Act>
      </EmptyState>
    </section>
  )
}
