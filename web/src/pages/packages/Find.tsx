import { Checkbox, Select, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { ApiError } from '../../data/api.ts'
import { type Found, usePackageSearch } from '../../data/packages.ts'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import { Icon } from '../../parts/marks/icons.tsx'
import { CauseStrip } from '../../parts/states/CauseStrip.tsx'
import { EmptyState } from '../../parts/states/EmptyState.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { hasFact } from './facts.ts'
import { t } from './messages.ts'
import css from './Packages.module.css'
import { Result } from './Result.tsx'
import { type Choice, SORTS } from './search.ts'

/** A registry is asked when someone has stopped typing, not between two letters. */
const PAUSE_MS = 600

interface Props {
  readonly choice: Choice
  readonly change: (change: Partial<Choice>) => void
}

export function Find({ choice, change }: Props) {
  const [words] = useDebouncedValue(choice.q.trim(), PAUSE_MS)
  const { data, error, isFetching } = usePackageSearch(words, !choice.any)
  const found = data && words !== '' ? shownOf(data.items, choice) : undefined
  const isNoSearch =
    data?.search_available === false || (error instanceof ApiError && error.code === 'search_unavailable')
  return (
    <>
      <TextInput
        aria-label={t('search')}
        placeholder={t('search')}
        size="md"
        data-filter
        maxLength={200}
        value={choice.q}
        onChange={({ currentTarget }) => change({ q: currentTarget.value })}
        leftSection={<Icon name="search" />}
        rightSectionWidth={96}
        rightSection={found && <span className="muted sm">{t('found', { count: found.length })}</span>}
      />
      <div className={css.filters}>
        <Checkbox label={t('mcpOnly')} checked={!choice.any} onChange={() => change({ any: !choice.any })} />
        <Checkbox
          label={t('provenance')}
          checked={choice.provenance}
          onChange={() => change({ provenance: !choice.provenance })}
        />
        <Checkbox
          label={t('noScripts')}
          checked={choice.scriptless}
          onChange={() => change({ scriptless: !choice.scriptless })}
        />
        <span className={css.sort}>
          <span className="muted sm">{t('sort')}</span>
          <Select
            aria-label={t('sort')}
            w={108}
            value={choice.sort}
            data={SORTS.map((value) => ({ value, label: t(value) }))}
            onChange={(value) => {
              const sort = SORTS.find((each) => each === value)
              if (sort) change({ sort })
            }}
          />
        </span>
      </div>
      {isNoSearch && <CauseStrip tone="info" sentence={t('noSearch')} evidence={t('noSearchHow')} />}
      {error && !isNoSearch && <ErrorState error={error} />}
      <section className="card" aria-label={t('results')}>
        {words === '' && <EmptyState title={t('start')} text={t('startText')} />}
        {words !== '' && !data && isFetching && <Skeleton rows={5} height={96} />}
        {found?.length === 0 && (
          <EmptyState title={isNoSearch ? t('noSearchNone') : t('noResult')} text={t('noResultText')} />
        )}
        {found && found.length > 0 && (
          <ul>
            {found.map((each) => (
              <Result key={each.name} found={each} />
            ))}
          </ul>
        )}
      </section>
      {found && found.length > 0 && (
        <p className={`muted sm ${css.note}`}>
          {t('facts')} <Glyph name="unknown" /> {t('factsUnknown')}
        </p>
      )}
    </>
  )
}

function shownOf(items: readonly Found[], { provenance, scriptless, sort }: Choice): readonly Found[] {
  const found = items
    .filter((each) => !provenance || hasFact(each, 'provenance'))
    .filter((each) => !scriptless || hasFact(each, 'install_scripts'))
  if (sort === 'downloads')
    return found.toSorted((a, b) => (b.downloads_weekly ?? -1) - (a.downloads_weekly ?? -1))
  return sort === 'newest' ? found.toSorted((a, b) => (b.date ?? '').localeCompare(a.date ?? '')) : found
}
