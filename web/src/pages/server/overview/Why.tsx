import { useState } from 'react'
import { type Diagnosis, useChangeServer, useDiagnosis } from '../../../data/server/server-changes.ts'
import type { Server } from '../../../data/servers.ts'
import { useSession } from '../../../data/session.ts'
import { Act } from '../../../parts/controls/Act.tsx'
import { copy } from '../../../parts/controls/CopyAs.tsx'
import { showDone, showFailure } from '../../../parts/controls/toasts.tsx'
import { Glyph } from '../../../parts/marks/Glyph.tsx'
import { Tag } from '../../../parts/marks/Tag.tsx'
import { Repair } from '../../../parts/repair/Repair.tsx'
import { actionOf } from '../../../parts/repair/repairs.ts'
import {
  type Cause,
  endedByItself,
  isDegraded,
  lacksItsPlace,
  lastLineOf,
  sentence,
} from '../../../parts/server/cause.ts'
import { ErrorState } from '../../../parts/states/ErrorState.tsx'
import { useSearchState } from '../../../url/search-state.ts'
import { search } from '../search.ts'
import { Attempts } from './Attempts.tsx'
import { t } from './messages.ts'
import css from './Overview.module.css'

interface Props {
  readonly server: Server
  readonly cause: Cause
}

/** The cause in plain words, the evidence, what to do, what was checked, and how to see the same in a terminal. */
export function Why({ server, cause }: Props) {
  const [, setSearch] = useSearchState(search)
  const isWarning = isDegraded(server)
  const line = lastLineOf(server)
  const what = server.last_error?.message ?? server.health.summary
  const todo = isWarning ? server.health.action : (server.last_error?.hint ?? server.health.action)
  const title = isWarning ? t('whyWarn') : t('whyDown')
  return (
    <section className={`card ${isWarning ? css.warning : css.why}`} aria-label={title}>
      <div className="card-head">
        <span className={cause.tone}>
          <Glyph name={isWarning ? 'look' : 'err'} />
        </span>
        <h2>{title}</h2>
        {cause.code && (
          <span className="right">
            <Tag>
              <span className="mono">{cause.code}</span>
            </Tag>
          </span>
        )}
      </div>
      <dl className={css.rows}>
        <dt>{t('happened')}</dt>
        <dd>{sentence(isWarning ? server.health.summary : withoutLine(what, line))}</dd>
        {line !== null && (
          <>
            <dt>{t('wrote')}</dt>
            <dd>
              <span className={`${css.code} err`}>{line}</span>
              <Act icon="logs" onClick={() => setSearch({ tab: 'logs' }, { push: true })}>
                {t('logs')}
              </Act>
            </dd>
          </>
        )}
        {todo && (
          <>
            <dt>{t('todo')}</dt>
            <dd>
              <b className="strong grow">{sentence(todo)}</b>
              <Help server={server} />
            </dd>
          </>
        )}
        <Checked server={server} />
        {server.type === 'stdio' && !isWarning && <Attempts server={server} />}
      </dl>
    </section>
  )
}

/** The line is shown in its own row. */
function withoutLine(message: string, line: string | null): string {
  const at = line === null ? -1 : message.indexOf(line.trim())
  return at < 0 ? message : message.slice(0, at).replace(/[:\s'"]+$/, '')
}

/** The button of the repair. Without its place, a server may also run elsewhere. */
function Help({ server }: { readonly server: Server }) {
  const [, setSearch] = useSearchState(search)
  const action = actionOf(server)
  const mayMove = lacksItsPlace(server) && action.kind !== 'change_isolation'
  return (
    <>
      <Repair action={action} server={server} look="main" />
      {mayMove && (
        <Act onClick={() => setSearch({ tab: 'config', field: 'isolation' }, { push: true })}>
          {t('changeIsolation')}
        </Act>
      )}
    </>
  )
}

/** Checks that start nothing run by themselves; others wait for the user. */
function Checked({ server }: { readonly server: Server }) {
  const [{ check }] = useSearchState(search)
  const [isAsked, setAsked] = useState(check)
  const { mayChange } = useSession()
  const hasNoProgram = !endedByItself(server) && !lacksItsPlace(server)
  const isHarmless = server.status === 'backoff' || (server.status === 'failed' && hasNoProgram)
  const { data, error, isFetching } = useDiagnosis(server, isHarmless || isAsked || check)
  if (!mayChange || isDegraded(server)) return null
  return (
    <>
      {data?.repair && <FoundByShell server={server} repair={data.repair} />}
      <dt>{t('checked')}</dt>
      <dd>
        {error && <ErrorState error={error} />}
        {data && <Checks checks={data.checks} said={server.last_error?.message} />}
        {!data && !error && (
          <>
            <Act size="xs" changes busy={isFetching} onClick={() => setAsked(true)}>
              {t('checkNow')}
            </Act>
            <span className="muted sm">{t('mayStart')}</span>
          </>
        )}
      </dd>
      {data && <Reproduce line={data.command_line} />}
    </>
  )
}

/** Said elsewhere on the page. */
const REPEATED = ['exits', 'processes', 'place']
/** Short words for what is as it should be. Other checks are shown with their own text. */
const WORDS = ['references', 'package', 'command', 'cwd', 'handshake', 'enabled'] as const

interface ChecksProps {
  readonly checks: Diagnosis['checks']
  /** The cause, which need not be read twice. */
  readonly said: string | undefined
}

function Checks({ checks, said }: ChecksProps) {
  return (
    <ul className={css.checks}>
      {checks
        .filter(({ name, ok, detail }) => !REPEATED.includes(name) && (ok || !said || !detail.includes(said)))
        .map(({ name, ok, detail }) => {
          const word = WORDS.find((each) => each === name)
          return (
            <li key={name} className={`${css.check} ${ok ? 'muted' : 'err'}`} title={detail}>
              <span className={ok ? 'ok' : 'err'}>
                <Glyph name={ok ? 'tick' : 'err'} />
              </span>
              {ok && word ? t(word) : detail}
            </li>
          )
        })}
    </ul>
  )
}

function Reproduce({ line }: { readonly line: string }) {
  return (
    <>
      <dt>{t('reproduce')}</dt>
      <dd>
        <span className={css.code}>{line}</span>
        <Act icon="copy" onClick={() => copy(line)}>
          {t('copy')}
        </Act>
      </dd>
    </>
  )
}

interface FoundProps {
  readonly server: Server
  readonly repair: NonNullable<Diagnosis['repair']>
}

/** One click: the path that the login shell finds becomes the command, and the server starts again. */
function FoundByShell({ server, repair: { command, detail } }: FoundProps) {
  const change = useChangeServer(server)
  const use = () =>
    change.mutate(
      { command },
      {
        onSuccess: ({ name }) => showDone(t('repaired', { name, command })),
        onError: (error) => showFailure(error),
      },
    )
  return (
    <>
      <dt>{t('repair')}</dt>
      <dd>
        <span className={css.code}>{detail}</span>
        <Act look="main" changes busy={change.isPending} onClick={use}>
          {t('usePath')}
        </Act>
      </dd>
    </>
  )
}
