import { Select } from '@mantine/core'
import { useCallback, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { useAgents } from '../../data/agents.ts'
import { useServers } from '../../data/servers.ts'
import { type TrafficCall, useTraffic } from '../../data/traffic.ts'
import { useKeys } from '../../keyboard/keys.ts'
import { PageHead } from '../../parts/content/PageHead.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { Keys } from '../../parts/marks/Keys.tsx'
import { Pill } from '../../parts/marks/Tag.tsx'
import { EmptyState } from '../../parts/states/EmptyState.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { number, oneOf, searchState, text, useSearchState } from '../../url/search-state.ts'
import { CallList } from './CallList.tsx'
import { Detail } from './Detail.tsx'
import { FilterField } from './FilterField.tsx'
import { matcherOf, queryOf } from './filter.ts'
import { flatRowsOf, groupsOf, rowsOf, startOf } from './groups.ts'
import { t } from './messages.ts'
import { Strip } from './Strip.tsx'
import css from './Traffic.module.css'
import { useFrozen } from './use-frozen.ts'

const GROUPINGS = ['session', 'none'] as const
const search = searchState({
  q: text(),
  group: oneOf(GROUPINGS, 'session'),
  call: number(),
  since: number(),
  until: number(),
})
const CHOICES = [
  { value: 'session', label: t('bySession') },
  { value: 'none', label: t('inOrder') },
]

/** Every call as it happens, as a waterfall. */
export function Page() {
  const [{ q, group, call: selected, since, until }, setSearch] = useSearchState(search)
  const { servers = [] } = useServers()
  const range = useMemo(
    () => (since !== undefined && until !== undefined ? { since, until } : undefined),
    [since, until],
  )
  const query = useMemo(() => {
    const idOf = (given: string) =>
      servers.find(({ id, name }) => id === given || name.toLowerCase() === given)?.id
    const times = range && { since: iso(range.since), until: iso(range.until) }
    return { ...queryOf(q, idOf), ...times }
  }, [q, servers, range])
  const traffic = useTraffic(query)
  const matches = useMemo(() => {
    const fits = matcherOf(q, (id) => servers.find((server) => server.id === id)?.name ?? id)
    return (call: TrafficCall) =>
      fits(call) && (!range || (startOf(call) >= range.since * 1000 && startOf(call) < range.until * 1000))
  }, [q, servers, range])
  const matching = useMemo(() => traffic.calls.filter(matches), [traffic.calls, matches])
  const { shown, waiting, isFollowing, follow, isPaused, pause } = useFrozen(matching, matches)
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const rows = useMemo(
    () => (group === 'session' ? rowsOf(groupsOf(shown), closed) : flatRowsOf(shown)),
    [shown, group, closed],
  )
  const toggle = useCallback((key: string) => setClosed((before) => toggled(before, key)), [])
  const step = (by: number) => {
    const calls = rows.flatMap((row) => (row.kind === 'call' ? [row.call.id] : []))
    const at = selected === undefined ? -1 : calls.indexOf(selected)
    const next = calls[at < 0 ? calls.length - 1 : Math.min(calls.length - 1, Math.max(0, at + by))]
    if (next !== undefined) setSearch({ call: next })
  }
  useKeys(t('title'), {
    Space: { does: isPaused ? t('resume') : t('pause'), run: () => pause(!isPaused) },
    End: { does: t('resume'), run: () => follow(true) },
    j: { does: t('next'), run: () => step(1) },
    k: { does: t('previous'), run: () => step(-1) },
    ArrowDown: { does: t('next'), run: () => step(1) },
    ArrowUp: { does: t('previous'), run: () => step(-1) },
    Escape: { does: t('close'), run: () => setSearch({ call: undefined }) },
  })
  const isEmpty = !traffic.isPending && rows.length === 0
  const isUnfiltered = q === '' && !range
  return (
    <div className={css.traffic}>
      <div className={css.top}>
        <PageHead title={t('title')}>
          <Pill tone={isPaused ? 'idle' : 'ok'} glyph={isPaused ? 'pause' : 'run'}>
            {isPaused ? t('paused') : t('live')}
          </Pill>
          <Act icon={isPaused ? 'play' : 'pause'} onClick={() => pause(!isPaused)}>
            {isPaused ? t('resume') : t('pause')}{' '}
            <span className={`wide-only ${css.key}`}>
              <Keys of="Space" />
            </span>
          </Act>
          <FilterField value={q} onChange={(next) => setSearch({ q: next })} />
          <Select
            className={css.grouping}
            aria-label={t('grouping')}
            data={CHOICES}
            value={group}
            onChange={(value) => setSearch({ group: value === 'none' ? 'none' : 'session' })}
          />
        </PageHead>
      </div>
      <Strip
        range={range}
        note={useNotMeasured()}
        onRange={(next) => setSearch({ since: next?.since, until: next?.until })}
      />
      <div className={css.below} data-open={selected !== undefined || undefined}>
        {traffic.error || traffic.isPending || isEmpty ? (
          <div className={css.state}>
            {traffic.error && <ErrorState error={traffic.error} />}
            {traffic.isPending && !traffic.error && <Skeleton rows={10} height={30} />}
            {isEmpty && !traffic.error && (
              <Nothing
                isUnfiltered={isUnfiltered}
                onClear={() => setSearch({ q: '', since: undefined, until: undefined })}
              />
            )}
          </div>
        ) : (
          <CallList
            rows={rows}
            selected={selected}
            isFollowing={isFollowing}
            waiting={waiting}
            onSelect={(id) => setSearch({ call: id })}
            onToggle={toggle}
            onFollow={follow}
            older={
              traffic.hasOlder && (
                <Act size="xs" look="quiet" busy={traffic.isReading} onClick={() => traffic.readOlder()}>
                  {t('older')}
                </Act>
              )
            }
          />
        )}
        {selected !== undefined && (
          <Detail
            id={selected}
            listed={traffic.calls.find(({ id }) => id === selected)}
            onClose={() => setSearch({ call: undefined })}
          />
        )}
      </div>
    </div>
  )
}

function toggled(before: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const after = new Set(before)
  if (!after.delete(key)) after.add(key)
  return after
}

const iso = (seconds: number): string => new Date(seconds * 1000).toISOString()

/** Agents that start servers themselves: their calls do not pass Toolroom. */
function useNotMeasured(): string | undefined {
  const { data: agents = [] } = useAgents()
  const direct = agents.filter(
    ({ connected_via, server_count }) => connected_via !== 'gateway' && server_count > 0,
  )
  if (direct.length === 0) return undefined
  return t('notMeasured', { agents: direct.map(({ name }) => name).join(', ') })
}

interface NothingProps {
  readonly isUnfiltered: boolean
  readonly onClear: () => void
}
function Nothing({ isUnfiltered, onClear }: NothingProps) {
  const [, navigate] = useLocation()
  if (!isUnfiltered)
    return (
      <EmptyState title={t('noMatch')} text={t('noMatchText')}>
        <Act look="main" onClick={onClear}>
          {t('clear')}
        </Act>
      </EmptyState>
    )
  return (
    <EmptyState title={t('empty')} text={t('emptyText')}>
      <Act look="main" onClick={() => navigate('/agents')}>
        {t('connect')}
      </Act>
      <Act look="quiet" onClick={() => navigate('/playground')}>
        {t('runTool')}
      </Act>
    </EmptyState>
  )
}
