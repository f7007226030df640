import type { ReactNode } from 'react'
import { useServerMetrics } from '../../../data/metrics.ts'
import { useServerLogin } from '../../../data/server/server-login.ts'
import type { Server } from '../../../data/servers.ts'
import { percent, tokens } from '../../../format/format.ts'
import { Breakable } from '../../../parts/content/Breakable.tsx'
import { Act } from '../../../parts/controls/Act.tsx'
import { Time } from '../../../parts/marks/Time.tsx'
import { useSearchState } from '../../../url/search-state.ts'
import { Masked } from '../Masked.tsx'
import { search } from '../search.ts'
import { t } from './messages.ts'
import css from './Overview.module.css'

/** What is known about it, in one column. */
export function Facts({ server }: { readonly server: Server }) {
  const { data: day } = useServerMetrics(server.id, '24h')
  const off = Object.values(server.tools).filter(({ enabled }) => !enabled).length
  return (
    <section className="card" aria-label={t('facts')}>
      <div className="card-head">
        <h2>{t('facts')}</h2>
      </div>
      <dl className={css.facts}>
        {server.type === 'stdio' ? <LocalFacts server={server} /> : <RemoteFacts server={server} />}
        <Fact name={t('lastTry')}>
          <LastTry server={server} />
        </Fact>
        <Fact name={t('uptime')}>{percent(day?.availability_pct)}</Fact>
        <Fact name={t('protocol')}>
          <span className="mono">{server.protocol_version ?? '–'}</span>
        </Fact>
        <Fact name={t('says')}>{saidName(server)}</Fact>
        <Fact name={t('tools')}>
          {server.tool_count === null
            ? '–'
            : t('toolsOn', {
                count: Math.max(0, server.tool_count - off),
                tokens: tokens(server.tool_tokens),
              })}
        </Fact>
        {server.type === 'stdio' ? <Launch server={server} /> : <Reached server={server} />}
      </dl>
    </section>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

function LastTry({ server: { last_try } }: { readonly server: Server }) {
  if (!last_try) return <span className="muted">{t('noTry')}</span>
  const at = <Time at={last_try.at} />
  return <>{last_try.ok ? t.rich('tryWorked', { at }) : t.rich('tryFailed', { at })}</>
}

type Local = Extract<Server, { type: 'stdio' }>
type Remote = Extract<Server, { type: 'http' }>

function LocalFacts({ server }: { readonly server: Local }) {
  return (
    <>
      <Fact name={t('kind')}>{t('stdioKind', { mode: t(server.start_mode) })}</Fact>
      <Fact name={t('process')}>{server.pid ?? '–'}</Fact>
      <Fact name={t('restarts')}>{server.restart_count}</Fact>
      <Place server={server} />
    </>
  )
}

function Place({ server: { isolation } }: { readonly server: Local }) {
  const [, setSearch] = useSearchState(search)
  const show = () =>
    setSearch(
      { tab: 'config', ...(isolation === 'none' ? { trial: true } : { field: 'isolation' }) },
      { push: true },
    )
  return (
    <Fact name={t('isolation')}>
      <span className={css.place}>
        {t(`in_${isolation}`)}
        <Act size="xs" look="quiet" onClick={show}>
          {isolation === 'none' ? t('tryIsolation') : t('change')}
        </Act>
      </span>
    </Fact>
  )
}

function Launch({ server }: { readonly server: Local }) {
  return (
    <>
      <Fact name={t('commandFact')}>
        <span className="mono">
          <Breakable text={[server.command, ...server.args].join(' ')} />
        </span>
      </Fact>
      <Fact name={t('folder')}>
        <span className="mono">
          <Breakable text={server.cwd ?? '~'} />
        </span>
      </Fact>
      <Values server={server} field="env" name={t('env')} values={server.env} />
      <Fact name={t('dropped')}>{t('lines', { count: server.log_lines_dropped })}</Fact>
    </>
  )
}

function RemoteFacts({ server }: { readonly server: Remote }) {
  const { data } = useServerLogin(server.id, server.auth.method === 'login')
  const account = data?.account
  return (
    <>
      <Fact name={t('kind')}>{t('httpKind', { transport: server.transport })}</Fact>
      <Fact name={t('signIn')}>{account ? t('signedInAs', { account }) : t(server.auth.state)}</Fact>
    </>
  )
}

function Reached({ server }: { readonly server: Remote }) {
  return (
    <>
      <Fact name={t('url')}>
        <span className="mono">
          <Breakable text={server.url} />
        </span>
      </Fact>
      <Values server={server} field="headers" name={t('headers')} values={server.headers} />
    </>
  )
}

interface ValuesProps {
  readonly server: Server
  readonly field: 'env' | 'headers'
  readonly name: string
  readonly values: Readonly<Record<string, string>>
}

function Values({ server, field, name, values }: ValuesProps) {
  const names = Object.keys(values)
  return (
    <Fact name={name}>
      {names.length === 0 && '–'}
      {names.map((key) => (
        <Masked key={key} server={server} field={field} name={key} />
      ))}
    </Fact>
  )
}

function saidName({ server_info }: Server): string {
  const { name, version } = server_info ?? {}
  return [name, version].filter((part) => typeof part === 'string').join(' ') || '–'
}
