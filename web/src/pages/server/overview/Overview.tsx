import { Link } from 'wouter'
import { useToolMetrics, type Window } from '../../../data/metrics.ts'
import type { Server } from '../../../data/servers.ts'
import { count, duration } from '../../../format/format.ts'
import { Monogram } from '../../../parts/marks/Tag.tsx'
import { causeOf } from '../../../parts/server/cause.ts'
import { useSearchState } from '../../../url/search-state.ts'
import { t as shared } from '../messages.ts'
import { search } from '../search.ts'
import { useAgentsOf } from '../users.ts'
import { Charts } from './Charts.tsx'
import { Facts } from './Facts.tsx'
import { t } from './messages.ts'
import css from './Overview.module.css'
import { Why } from './Why.tsx'

/** Why it does not work, how it did, and what it is. */
export function Overview({ server }: { readonly server: Server }) {
  const [{ window }] = useSearchState(search)
  const cause = causeOf(server)
  return (
    <div className={css.two}>
      <div className={css.column}>
        {cause && <Why server={server} cause={cause} />}
        <Charts server={server} />
      </div>
      <div className={css.column}>
        <Facts server={server} />
        <UsedBy server={server} />
        <Busiest server={server} window={window} />
      </div>
    </div>
  )
}

function UsedBy({ server }: { readonly server: Server }) {
  const { users } = useAgentsOf(server.id)
  const own = users.filter(({ via }) => via !== null)
  return (
    <section className="card" aria-label={shared('usedBy')}>
      <div className="card-head">
        <h2>{shared('usedBy')}</h2>
        <Link href="/agents" className="right sm">
          {shared('grid')}
        </Link>
      </div>
      {own.length === 0 && <p className={`muted ${css.inside}`}>{shared('noUsers')}</p>}
      <ul>
        {own.map(({ agent, via }) => (
          <li key={agent.agent_type} className={css.item}>
            <Monogram name={agent.name} />
            <span className="cut grow">{agent.name}</span>
            <span className="muted">{via && shared(via)}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

const SHOWN = 5

function Busiest({ server, window }: { readonly server: Server; readonly window: Window }) {
  const { data: tools = [] } = useToolMetrics(window, server.id)
  const sorted = tools.toSorted((a, b) => b.calls.total - a.calls.total).slice(0, SHOWN)
  return (
    <section className="card" aria-label={t('busiest')}>
      <div className="card-head">
        <h2>{t('busiest')}</h2>
      </div>
      {sorted.length === 0 && <p className={`muted ${css.inside}`}>{t('noCalls')}</p>}
      <ul>
        {sorted.map(({ tool, calls, latency_ms }) => (
          <li key={tool} className={css.item}>
            <span className="mono cut grow">{tool}</span>
            <span className="num">{count(calls.total)}</span>
            <span className="num" style={{ minWidth: 56 }}>
              {duration(latency_ms.p95)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
