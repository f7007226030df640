import { Link, useLocation } from 'wouter'
import { useFoundAgents } from '../../data/agents.ts'
import { useLive } from '../../data/live/live.ts'
import { usePackages } from '../../data/packages.ts'
import { useServers } from '../../data/servers.ts'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import { Icon, Mark } from '../../parts/marks/icons.tsx'
import { isBroken } from '../../parts/marks/status.ts'
import { t } from '../messages.ts'
import { PAGES } from '../pages.ts'
import { JobCard } from './JobCard.tsx'
import css from './Rail.module.css'

export function Rail() {
  const [path] = useLocation()
  const { version } = useLive()
  return (
    <div className={css.rail}>
      <div className={css.brand}>
        <Mark />
        <b>Toolroom</b>
      </div>
      <nav className={css.nav} aria-label={t('pages')}>
        {PAGES.map((page) => (
          <Link key={page.path} href={page.path} aria-current={isAt(page.path, path) ? 'page' : undefined}>
            <Icon name={page.icon} />
            <span>{page.title}</span>
            <span className={css.counts}>
              <Counts path={page.path} />
            </span>
          </Link>
        ))}
      </nav>
      <div className={css.foot}>
        <JobCard />
        <div className={css.version}>
          {version && `v${version} · `}
          {location.host}
        </div>
      </div>
    </div>
  )
}

export const isAt = (page: string, path: string): boolean =>
  page === '/' ? path === '/' : path === page || path.startsWith(`${page}/`)

function Counts({ path }: { readonly path: string }) {
  switch (path) {
    case '/servers':
      return <ServerCounts />
    case '/agents':
      return <AgentCount />
    case '/packages':
      return <PackageCount />
    default:
      return null
  }
}

function ServerCounts() {
  const { servers } = useServers()
  const broken = servers?.filter(isBroken).length ?? 0
  return (
    <>
      {broken > 0 && (
        <span className={`err ${css.broken}`} title={t('needYou', { count: broken })}>
          <Glyph name="err" size={9} />
          {broken}
        </span>
      )}
      {servers?.length}
    </>
  )
}
const AgentCount = () => useFoundAgents().data?.length ?? null
const PackageCount = () => usePackages().data?.length || null
