import { Redirect, useLocation } from 'wouter'
import { needsPermission } from '../../data/api.ts'
import { isFirstRun, useScan } from '../../data/first-run/first-run.ts'
import { WINDOWS } from '../../data/metrics.ts'
import { useNotices } from '../../data/notices.ts'
import { useServers } from '../../data/servers.ts'
import { foundSentence } from '../../parts/content/found-sentence.ts'
import { PageHead } from '../../parts/content/PageHead.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { Seg } from '../../parts/controls/Seg.tsx'
import { isUntried } from '../../parts/marks/status.ts'
import { AddSample } from '../../parts/server/AddSample.tsx'
import { TryAll } from '../../parts/server/TryAll.tsx'
import { EmptyState } from '../../parts/states/EmptyState.tsx'
import { ErrorState, NeedsPermission } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { oneOf, searchState, useSearchState } from '../../url/search-state.ts'
import { Figures } from './Figures.tsx'
import css from './Home.module.css'
import { t } from './messages.ts'
import { NeedsYou } from './NeedsYou.tsx'
import { Recent } from './Recent.tsx'
import { ServerRows } from './ServerRows.tsx'

const search = searchState({ window: oneOf(WINDOWS, '1h') })
const RANGES = WINDOWS.map((value) => ({ value, label: value.replace(/(\d+)/, '$1 ') }))

/** Is everything all right? The sentence, what needs the user, the figures, then the servers. */
export function Page() {
  const [{ window }, setSearch] = useSearchState(search)
  const { servers, error } = useServers()
  const notices = useNotices()
  if (servers?.length === 0) return isFirstRun() ? <Redirect to="/welcome" replace /> : <NoServers />
  if (needsPermission(error)) return <Locked />
  return (
    <div className="page">
      <PageHead title={<Sentence />} tab={t('title')}>
        {servers && <TryAll servers={servers} />}
        <span className="wide-only">
          <Seg
            label={t('range')}
            value={window}
            options={RANGES}
            onChange={(next) => setSearch({ window: next })}
          />
        </span>
      </PageHead>
      {error && <ErrorState error={error} />}
      {notices.data && notices.data.length > 0 && <NeedsYou notices={notices.data} />}
      <Figures window={window} />
      <div className={css.two}>
        {servers ? (
          <ServerRows servers={servers} window={window} />
        ) : (
          !error && (
            <section className="card" aria-label={t('servers')}>
              <Skeleton rows={6} />
            </section>
          )
        )}
        <Recent />
      </div>
    </div>
  )
}

function Sentence() {
  const { servers } = useServers()
  const { data: notices } = useNotices()
  if (!servers) return <span className={css.sentence}>{t('title')}</span>
  const count = servers.length
  const works = servers.filter(({ health }) => health.works).length
  const untried = servers.filter(isUntried).length
  return (
    <span className={css.sentence}>
      {works === count ? t('allWork', { count }) : t('someWork', { works, count })}{' '}
      {untried > 0 && `${t('notTried', { count: untried })} `}
      {notices && (notices.length > 0 || untried === 0) && (
        <span className={css.rest}>
          {notices.length === 0 ? t('nothing') : t('needYou', { count: notices.length })}
        </span>
      )}
    </span>
  )
}

/** The service protects its reads, and this tab has no token. */
function Locked() {
  return (
    <div className="page">
      <PageHead title={t('title')} />
      <NeedsPermission />
    </div>
  )
}

function NoServers() {
  const [, navigate] = useLocation()
  const { data: scan } = useScan()
  return (
    <div className="page">
      <PageHead title={t('title')} />
      <section className="card" aria-label={t('servers')}>
        <EmptyState
          title={t('empty')}
          text={scan && scan.entries > 0 ? t('emptyFound', { found: foundSentence(scan) }) : t('emptyText')}
        >
          <Act look="main" onClick={() => navigate('/welcome')}>
            {t('findAgents')}
          </Act>
          <Act look="quiet" onClick={() => navigate('/servers?add=1')}>
            {t('addServer')}
          </Act>
          <AddSample />
        </EmptyState>
      </section>
    </div>
  )
}
