import type { ReactNode } from 'react'
import type { GatewayChange } from '../../data/agent-files.ts'
import { texts } from '../../i18n/texts.ts'
import { Glyph } from '../marks/Glyph.tsx'
import css from './BeforeAfter.module.css'

const t = texts('before-after', {
  title: 'Before and after',
  before: 'Before',
  after: 'After',
  keeps: 'keeps what it had',
  servers: 'Servers',
  all: 'and all that are added later',
  same: 'none gained, none lost',
  gains: 'It gains {servers}',
  unchanged: 'stays in the file',
  tools: 'Tools',
  tokens: 'Tokens',
  about: 'about {count}',
  credentials: 'Credentials',
  none: 'none',
  noOthers: 'no others',
  newOnes: 'It can now use {names}',
  names: 'Tool names',
  more: { one: 'and {count} more', other: 'and {count} more' },
  unknown: 'Tool names are not known before the first start',
  notAdded: 'Not added',
  others: { one: '{count} other server', other: '{count} other servers' },
  nothing: 'It sees no server. Choose “Follow all servers”, or switch servers on in Agents.',
})

/** What an agent can use before and after it is connected to the gateway. */
export function BeforeAfter({ change }: { readonly change: GatewayChange }) {
  const { before, after, gained, replaced, kept, credentials, not_added, servers } = change
  const newSecrets = credentials.after.filter((each) => !credentials.before.includes(each))
  const isSame = gained.length === 0 && newSecrets.length === 0
  return (
    <section className={`card ${css.card}`} aria-label={t('title')}>
      <div className={css.head}>
        <b>{t('title')}</b>
        {isSame && <Good text={t('keeps')} />}
      </div>
      <div className={css.row}>
        <span />
        <span className="muted sm">{t('before')}</span>
        <span className="muted sm">{t('after')}</span>
      </div>
      <Row
        label={t('servers')}
        before={before.servers}
        after={servers === null ? `${after.servers}, ${t('all')}` : after.servers}
      />
      {replaced.map(({ name, server_id }) => (
        <Row key={`${name} ${server_id}`} before={name} after={server_id} />
      ))}
      {kept.map((name) => (
        <Row key={`kept ${name}`} before={name} after={t('unchanged')} />
      ))}
      <Note>
        {gained.length === 0 ? (
          <Good text={t('same')} />
        ) : (
          <span className="warn">{t('gains', { servers: gained.join(', ') })}</span>
        )}
      </Note>
      {after.servers === 0 && <Note>{t('nothing')}</Note>}
      <Row label={t('tools')} before={before.tools} after={after.tools} />
      <Row
        label={t('tokens')}
        before={t('about', { count: before.tokens })}
        after={t('about', { count: after.tokens })}
      />
      <Row
        label={t('credentials')}
        before={credentials.before.join(', ') || t('none')}
        after={credentials.after.join(', ') || t('none')}
      />
      <Note>
        {newSecrets.length === 0 ? (
          <Good text={t('noOthers')} />
        ) : (
          <span className="warn">{t('newOnes', { names: newSecrets.join(', ') })}</span>
        )}
      </Note>
      {replaced.length > 0 && <ToolNames replaced={replaced} />}
      {not_added > 0 && (
        <div className={css.row}>
          <span className="muted">{t('notAdded')}</span>
          <span className={css.both}>{t('others', { count: not_added })}</span>
        </div>
      )}
    </section>
  )
}

/** The first tool of each entry shows how its names change. */
function ToolNames({ replaced }: Pick<GatewayChange, 'replaced'>) {
  const known = replaced.filter(({ tools }) => tools.length > 0)
  if (known.length === 0) return <Note>{t('unknown')}</Note>
  return known.map(({ name, tools: [first, ...others] }, n) => (
    <Row
      key={name}
      label={n === 0 ? t('names') : undefined}
      before={<span className="mono">{first?.before}</span>}
      after={
        <>
          <span className="mono">{first?.after}</span>{' '}
          {others.length > 0 && <span className="muted sm">{t('more', { count: others.length })}</span>}
        </>
      }
    />
  ))
}

interface RowProps {
  readonly label?: string | undefined
  readonly before: ReactNode
  readonly after: ReactNode
}

const Row = ({ label, before, after }: RowProps) => (
  <div className={label === undefined ? css.row : `${css.row} ${css.first}`}>
    <span className="muted">{label}</span>
    <span>{before}</span>
    <span>
      <span aria-hidden="true" className="muted">
        →{' '}
      </span>
      {after}
    </span>
  </div>
)

const Note = ({ children }: { readonly children: ReactNode }) => (
  <div className={css.row}>
    <span />
    <span className={`sm ${css.both}`}>{children}</span>
  </div>
)

const Good = ({ text }: { readonly text: string }) => (
  <span className="ok row sm">
    <Glyph name="tick" />
    {text}
  </span>
)
