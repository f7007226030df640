import { useDebouncedValue } from '@mantine/hooks'
import { useMemo, useState } from 'react'
import { useLogHistogram } from '../../data/logs.ts'
import { useKeys } from '../../keyboard/keys.ts'
import { useSearchState } from '../../url/search-state.ts'
import { Context } from './Context.tsx'
import { Filters } from './Filters.tsx'
import { Foot } from './Foot.tsx'
import { allOf, matchingOf, SINCE, search } from './filter.ts'
import { Histogram } from './Histogram.tsx'
import { LogList } from './LogList.tsx'
import css from './Logs.module.css'
import { t } from './messages.ts'
import { Tools } from './Tools.tsx'
import { useView } from './use-view.ts'

/** What servers and Toolroom wrote: live, searchable, and exactly that as a file. */
export function Page() {
  const [choice, change] = useSearchState(search)
  const [q] = useDebouncedValue(choice.q, 400) // while a text is typed, it is not sought letter by letter
  const settled = useMemo(() => ({ ...choice, q }), [choice, q])
  const view = useView(settled)
  const all = useLogHistogram(allOf(settled))
  const isSearching = settled.q.trim() !== ''
  const matching = useLogHistogram(matchingOf(settled), isSearching)
  const [selected, select] = useState<number | null>()
  const counts = { all: all.data, matching: isSearching ? matching.data : all.data }
  const since = SINCE.indexOf(choice.since)
  const range = (step: number) => {
    const next = SINCE[since + step]
    if (next) change({ since: next, from: undefined, to: undefined })
  }
  useKeys(t('title'), {
    w: { does: t('wrap'), run: () => change({ wrap: !choice.wrap }) },
    t: { does: t('times'), run: () => change({ timeless: !choice.timeless }) },
    Space: { does: t('pause'), run: () => view.setPause(view.pause ? undefined : 'user') },
    End: { does: t('end'), run: view.resume },
    '[': { does: t('shorter'), run: () => range(-1) },
    ']': { does: t('longer'), run: () => range(1) },
  })
  return (
    <div className={css.page}>
      <Tools choice={choice} change={change} view={view} counts={counts} />
      <Filters choice={choice} change={change} matches={isSearching ? matching.data?.total : undefined} />
      <Histogram
        data={all.data}
        onZoom={(from, to) => change({ from, to }, { push: true })}
        fixed={view.isFixed ? choice.since : undefined}
        onWhole={() => change({ from: undefined, to: undefined })}
      />
      <LogList
        view={view}
        choice={choice}
        selected={selected}
        onSelect={select}
        onAround={(line) => change({ line }, { push: true })}
        onShowAll={() => change({ q: '', servers: [], level: 'trace', stream: 'all', since: 'all' })}
      />
      <Foot view={view} counts={counts} isSearching={isSearching} servers={choice.servers} />
      {choice.line !== undefined && (
        <Context id={choice.line} sought={choice.q} onClose={() => change({ line: undefined })} />
      )}
    </div>
  )
}
