import { Link } from 'wouter'
import type { Entry } from '../../data/agent-files.ts'
import { JsonTree } from '../../parts/content/JsonTree.tsx'
import { Seg } from '../../parts/controls/Seg.tsx'
import { Tag } from '../../parts/marks/Tag.tsx'
import { oneOf, searchState, useSearchState } from '../../url/search-state.ts'
import css from './Agent.module.css'
import { t } from './messages.ts'

const search = searchState({ show: oneOf(['list', 'raw'], 'list') })

/** What the files say, as a list or as their values. Secrets are masked by the service. */
export function Entries({ entries }: { readonly entries: readonly Entry[] }) {
  const [{ show }, set] = useSearchState(search)
  return (
    <section className="card" aria-label={t('entries')}>
      <div className="card-head">
        <h2>{t('entries')}</h2>
        <span className="right">
          <Seg
            label={t('shape')}
            value={show}
            options={[
              { value: 'list', label: t('list') },
              { value: 'raw', label: t('raw') },
            ]}
            onChange={(next) => set({ show: next })}
          />
        </span>
      </div>
      {entries.length === 0 && <p className={`muted ${css.inside}`}>{t('noEntries')}</p>}
      {show === 'raw' ? (
        <div className={css.inside}>
          <JsonTree value={Object.fromEntries(entries.map((entry) => [entry.name, rawOf(entry)]))} />
        </div>
      ) : (
        <ul>
          {entries.map((entry) => (
            <li key={`${entry.scope} ${entry.name} ${entry.parked}`} className={css.entry}>
              <b className="strong">
                {entry.linked_server_id === null ? (
                  entry.name
                ) : (
                  <Link href={`/servers/${entry.linked_server_id}`}>{entry.name}</Link>
                )}
              </b>
              <span className={`mono muted grow ${css.path}`}>
                {entry.url ?? [entry.command, ...(entry.args ?? [])].join(' ')}
              </span>
              {entry.differs.length > 0 && <Tag tone="warn">≠ {t('differs')}</Tag>}
              {entry.parked ? <Tag>{t('parked')}</Tag> : entry.enabled === false && <Tag>{t('off')}</Tag>}
              {entry.managed && <span className="muted sm">{t('managed')}</span>}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function rawOf({ type, command, args, env, cwd, url, headers, enabled }: Entry): Record<string, unknown> {
  const fields = { type, command, args, env, cwd, url, headers, enabled }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null))
}
