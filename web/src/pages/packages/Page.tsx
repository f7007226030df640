import { usePackages } from '../../data/packages.ts'
import { PageHead } from '../../parts/content/PageHead.tsx'
import { Seg } from '../../parts/controls/Seg.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { useSearchState } from '../../url/search-state.ts'
import { Find } from './Find.tsx'
import { Installed } from './Installed.tsx'
import { Jobs } from './Jobs.tsx'
import { t } from './messages.ts'
import css from './Packages.module.css'
import { search } from './search.ts'

/** Find, install, update and remove packages. What is under way is at the right. */
export function Page() {
  const [choice, change] = useSearchState(search)
  const { data: packages, error } = usePackages()
  const outdated = packages?.filter(({ update_available }) => update_available)
  const tabs = [
    { value: 'find', label: t('find') },
    { value: 'installed', label: t('installed'), ...(packages && { count: packages.length }) },
    { value: 'updates', label: t('updates'), ...(outdated && { count: outdated.length }) },
  ] as const
  return (
    <div className="page">
      <PageHead
        title={t('title')}
        count={<Seg label={t('tab')} value={choice.tab} options={tabs} onChange={(tab) => change({ tab })} />}
      >
        <span className="muted sm">{t('registry')}</span>
      </PageHead>
      <div className={css.two}>
        <div className={css.main}>
          {error && <ErrorState error={error} />}
          {choice.tab === 'find' && <Find choice={choice} change={change} />}
          {choice.tab !== 'find' && (
            <Installed
              packages={choice.tab === 'updates' ? outdated : packages}
              isUpdates={choice.tab === 'updates'}
            />
          )}
        </div>
        <Jobs />
      </div>
    </div>
  )
}
