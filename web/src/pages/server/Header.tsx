import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { useTestServer } from '../../data/server/server-changes.ts'
import { useServerLogin } from '../../data/server/server-login.ts'
import { type Server, type ServerAction, useServerAction } from '../../data/servers.ts'
import { long, seconds } from '../../format/format.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { PlaceText } from '../../parts/isolation/PlaceMark.tsx'
import { Icon } from '../../parts/marks/icons.tsx'
import { StatusText } from '../../parts/marks/StatusText.tsx'
import { useNow } from '../../parts/marks/Time.tsx'
import { exitText } from '../../parts/server/cause.ts'
import { ServerMenu } from '../../parts/server/ServerMenu.tsx'
import { ConfirmLogin, canSignIn, SignIn, SignOut } from '../../parts/server/SignIn.tsx'
import { useSearchState } from '../../url/search-state.ts'
import { t } from './messages.ts'
import css from './Server.module.css'
import { search } from './search.ts'

/** Its name, its state in one line, and what is done most. */
export function Header({ server }: { readonly server: Server }) {
  const [, navigate] = useLocation()
  const [, setSearch] = useSearchState(search)
  const edit = <Act onClick={() => setSearch({ tab: 'config' }, { push: true })}>{t('edit')}</Act>
  return (
    <div>
      <nav className={`${css.crumbs} sm muted`} aria-label={t('servers')}>
        <Link href="/servers">{t('servers')}</Link>
        <Icon name="right" size={14} />
        <span>{server.name}</span>
      </nav>
      <div className={css.head}>
        <h1>{server.name}</h1>
        <StatusText server={server} />
        <span className="muted">
          {server.type === 'stdio' ? <Since server={server} /> : checkedAt(server)}
        </span>
        <div className={css.actions}>
          {server.type === 'stdio' ? (
            <LocalActions server={server} edit={edit} />
          ) : (
            <RemoteActions server={server} edit={edit} />
          )}
          <ServerMenu server={server} size={28} onRemoved={() => navigate('/servers')} />
        </div>
      </div>
      {server.type === 'stdio' && <PlaceText confinement={server} />}
    </div>
  )
}

type Local = Extract<Server, { type: 'stdio' }>

function Since({ server }: { readonly server: Local }) {
  const now = useNow(1000)
  const { status, last_exit, restart_count, next_retry_at, started_at } = server
  if (['backoff', 'failed'].includes(status) && last_exit) {
    const facts = { exit: exitText(last_exit), time: seconds(last_exit.at) }
    const times = restart_count + 1
    const left = next_retry_at === null ? 0 : Math.ceil((Date.parse(next_retry_at) - now) / 1000)
    return (
      <>
        {times > 1 ? t('crashedAt', { ...facts, ordinal: ordinal(times) }) : t('crashedOnce', facts)}{' '}
        {left > 0 && t('nextTry', { time: long(left) })}
      </>
    )
  }
  if (status === 'running' && started_at) return long(Math.max(0, (now - Date.parse(started_at)) / 1000))
  return null
}

const RULES = new Intl.PluralRules('en', { type: 'ordinal' })
const ENDINGS: Readonly<Record<string, string>> = { one: 'st', two: 'nd', few: 'rd', other: 'th' }
const ordinal = (count: number): string => `${count}${ENDINGS[RULES.select(count)]}`

const checkedAt = ({ last_checked_at }: Extract<Server, { type: 'http' }>): string | null =>
  last_checked_at === null ? null : t('checkedAt', { time: seconds(last_checked_at) })

interface ActionsProps<S extends Server> {
  readonly server: S
  /** Stands before the main button. */
  readonly edit: ReactNode
}

function LocalActions({ server, edit }: ActionsProps<Local>) {
  const action = useServerAction()
  const run = (what: ServerAction) => () =>
    action.mutate({ id: server.id, action: what }, { onError: (error) => showFailure(error) })
  const isUp = ['running', 'starting', 'stopping'].includes(server.status)
  const isTrying = server.status === 'backoff'
  return (
    <>
      {(isUp || isTrying) && (
        <Act look="quiet" icon="stop" changes onClick={run('stop')}>
          {isTrying ? t('stopTrying') : t('stop')}
        </Act>
      )}
      {edit}
      {isUp || isTrying ? (
        <Act look={isTrying ? 'main' : 'plain'} icon="restart" changes onClick={run('restart')}>
          {isTrying ? t('restartNow') : t('restart')}
        </Act>
      ) : (
        <Act look="main" icon="play" changes onClick={run('start')}>
          {t('start')}
        </Act>
      )}
    </>
  )
}

function RemoteActions({ server, edit }: ActionsProps<Extract<Server, { type: 'http' }>>) {
  const test = useTestServer()
  const { id, name } = server
  const check = () =>
    test.mutate(id, {
      onSuccess: ({ error, tool_count }) =>
        error
          ? showFailure(new Error(error.message), t('fails', { name }))
          : showDone(t('works', { name, count: tool_count ?? 0 })),
      onError: (error) => showFailure(error),
    })
  const isSignedIn = server.auth.method === 'login' && server.auth.state === 'logged_in'
  const isUnconfirmed = server.auth.confirm_until !== null
  const { data: login } = useServerLogin(id, isUnconfirmed)
  return (
    <>
      {edit}
      {isUnconfirmed && <ConfirmLogin server={server} login={login} />}
      {isSignedIn && <SignOut server={server} />}
      {canSignIn(server) && !isSignedIn && <SignIn server={server} />}
      <Act icon="scan" changes busy={test.isPending} onClick={check}>
        {t('test')}
      </Act>
    </>
  )
}
