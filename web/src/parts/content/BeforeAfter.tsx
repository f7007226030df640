import { Fragment } from 'react'
import type { GatewayChange } from '../../data/agent-files.ts'
import { useAgents } from '../../data/agents.ts'
import { program } from '../../data/browser/program.ts'
import { useAutostart } from '../../data/settings.ts'
import { texts } from '../../i18n/texts.ts'
import { Monogram } from '../marks/Tag.tsx'
import css from './BeforeAfter.module.css'
import { BeforeAfterRow, BeforeAfterTable, ChangeNote } from './BeforeAfterRow.tsx'
import { SizeRows } from './SizeRows.tsx'
import { ToolNames } from './ToolNames.tsx'
import { VariantStrip } from './VariantStrip.tsx'

const t = texts('before-after', {
  title: 'Before and after',
  small: 'before and after',
  keeps: 'keeps what it had',
  changes: 'can use more than before',
  servers: 'Servers',
  same: 'none gained, none lost',
  gained: { one: '{count} gained', other: '{count} gained' },
  all: 'and all that are added later',
  nothing: 'It sees no server. Choose “Follow all servers”, or switch servers on in Agents.',
  shared: { one: 'the one that {agents} has', other: 'the one that {agents} have' },
  own: '{agent}’s own variant',
  stays: 'stays in the file',
  isNew: 'new',
  none: 'none',
  credentials: 'Credentials',
  noOthers: 'same value, no others',
  noneUsed: 'no others',
  newOnes: 'can now use {names}',
  notAdded: 'Not added',
  others: {
    one: '{count} other server, with its credentials.',
    other: '{count} other servers, with their credentials.',
  },
  variantToo: {
    one: '{whose} {server} and {count} other server, with their credentials.',
    other: '{whose} {server} and {count} other servers, with their credentials.',
  },
  off: 'Toolroom off',
  offNone: 'It has no tools then. {help}',
  offKept: 'It has only what stays in its file then. {help}',
  install: '{command} starts Toolroom at every login.',
  up: '{command} starts it.',
  offStarts: 'Its first call starts Toolroom.',
  atLogin: 'Toolroom starts at every login.',
  variantOnly: '{whose} {server}, with its credentials.',
  of: '{agent}’s',
})

interface Props {
  readonly agentType: string
  readonly change: GatewayChange
}

/** What an agent can use before and after it is connected to the gateway, line by line: also what stays as it is. */
export function BeforeAfter({ agentType, change }: Props) {
  const { data: agents = [] } = useAgents()
  const nameOf = (type: string) => agents.find(({ agent_type }) => agent_type === type)?.name ?? type
  const { before, after, gained, replaced, kept, credentials, servers } = change
  const newSecrets = credentials.after.filter((each) => !credentials.before.includes(each))
  const isSame = gained.length === 0 && newSecrets.length === 0 && servers !== null
  const own = replaced.map(({ server_id }) => server_id)
  const agent = nameOf(agentType)
  return (
    <section className={css.card} aria-label={`${agent}, ${t('small')}`}>
      <div className={css.head}>
        <Monogram name={agent} />
        <b>{agent}</b>
        <span className="muted sm">{t('small')}</span>
        <span className="right">
          {isSame ? (
            <ChangeNote tone="ok" text={t('keeps')} />
          ) : (
            <ChangeNote tone="warn" text={t('changes')} />
          )}
        </span>
      </div>
      <BeforeAfterTable label={t('title')}>
        <BeforeAfterRow
          label={t('servers')}
          before={<b>{before.servers}</b>}
          after={
            <>
              <b>{after.servers}</b>
              {servers === null && <span className="muted">, {t('all')}</span>}
            </>
          }
          note={
            gained.length === 0 ? (
              <ChangeNote tone="ok" text={t('same')} />
            ) : (
              <ChangeNote tone="warn" text={t('gained', { count: gained.length })} />
            )
          }
        />
        {replaced.map(({ name, server_id, shared_with, variants }) => (
          <Fragment key={`${name} ${server_id}`}>
            <BeforeAfterRow
              before={name}
              after={change.keep_names || name === server_id ? name : <b>{server_id}</b>}
              note={whoseServer(shared_with.map(nameOf), variants.length > 0, agent)}
            />
            {variants.map((variant) => (
              <tr key={variant.server_id} className={css.variant}>
                <td colSpan={5}>
                  <VariantStrip
                    own={server_id}
                    other={variant.server_id}
                    ownAgents={[agent]}
                    agents={variant.agents.map(nameOf)}
                    values={variant.values}
                  />
                </td>
              </tr>
            ))}
          </Fragment>
        ))}
        {kept.map((name) => (
          <BeforeAfterRow key={`kept ${name}`} before={name} after={name} note={t('stays')} />
        ))}
        {gained
          .filter((id) => !own.includes(id))
          .map((id) => (
            <BeforeAfterRow
              key={`gained ${id}`}
              before="–"
              after={<b>{id}</b>}
              note={<ChangeNote tone="warn" text={t('isNew')} />}
            />
          ))}
        {after.servers === 0 && (
          <tr className={css.wide}>
            <td colSpan={5}>{t('nothing')}</td>
          </tr>
        )}
        <SizeRows change={change} />
        <BeforeAfterRow
          label={t('credentials')}
          before={<Secrets all={credentials.before} />}
          after={<Secrets all={credentials.after} />}
          note={
            newSecrets.length > 0 ? (
              <ChangeNote
                tone="warn"
                text={t('newOnes', { names: newSecrets.map(nameOfSecret).join(', ') })}
              />
            ) : (
              <ChangeNote tone="ok" text={t(credentials.after.length > 0 ? 'noOthers' : 'noneUsed')} />
            )
          }
        />
        <ToolNames replaced={replaced} />
        <ToolroomOff change={change} />
        <NotAdded change={change} nameOf={nameOf} />
      </BeforeAfterTable>
    </section>
  )
}

const LIST = new Intl.ListFormat('en')

function whoseServer(shared: readonly string[], hasVariants: boolean, agent: string): string | null {
  if (shared.length > 0) return t('shared', { count: shared.length, agents: LIST.format(shared) })
  return hasVariants ? t('own', { agent }) : null
}

/** `github: env GITHUB_TOKEN` */
const nameOfSecret = (credential: string): string => credential.replace(/^.*?: (?:env |header )?/, '')

function Secrets({ all }: { readonly all: readonly string[] }) {
  const names = [...new Set(all.map(nameOfSecret))]
  if (names.length === 0) return <span className="muted">{t('none')}</span>
  return (
    <span className={css.list} title={all.join('\n')}>
      {names.map((name) => (
        <span key={name} className="mono">
          {name}
        </span>
      ))}
    </span>
  )
}

/** What the agent has while the service is not running. */
function ToolroomOff({ change: { starts_toolroom, kept } }: Pick<Props, 'change'>) {
  const { data: login } = useAutostart()
  const canInstall = login?.problem === null
  const command = (
    <code key="command" className="mono">
      {program} {canInstall ? 'service install' : 'up'}
    </code>
  )
  const help = <span key="help">{t.rich(canInstall ? 'install' : 'up', { command })}</span>
  const isCutOff = !starts_toolroom && login?.starts_at_login !== true
  return (
    <tr className={`${css.row} ${css.first}`}>
      <th scope="row">{t('off')}</th>
      <td className={`${isCutOff ? 'warn' : 'muted'} ${css.rest}`} colSpan={4}>
        {isCutOff
          ? t.rich(kept.length > 0 ? 'offKept' : 'offNone', { help })
          : t(starts_toolroom ? 'offStarts' : 'atLogin')}
      </td>
    </tr>
  )
}

function NotAdded({
  change: { replaced, not_added },
  nameOf,
}: {
  readonly change: GatewayChange
  readonly nameOf: (type: string) => string
}) {
  if (not_added === 0) return null
  const used = replaced.map(({ server_id }) => server_id)
  const variant = replaced
    .flatMap(({ variants }) => variants)
    .find(({ server_id, agents }) => !used.includes(server_id) && agents.length > 0)
  const count = variant ? not_added - 1 : not_added
  const whose = variant && t('of', { agent: nameOf(variant.agents[0] ?? '') })
  return (
    <tr className={`${css.row} ${css.first}`}>
      <th scope="row">{t('notAdded')}</th>
      <td className={`muted ${css.rest}`} colSpan={4}>
        {variant && whose
          ? t(count === 0 ? 'variantOnly' : 'variantToo', { whose, server: variant.server_id, count })
          : t('others', { count })}
      </td>
    </tr>
  )
}
