import type { Schemas } from '../../data/api.ts'
import { useShort } from '../../data/live/home-folder.ts'
import { texts } from '../../i18n/texts.ts'
import css from './VariantStrip.module.css'

const t = texts('variant', {
  differs: {
    one: '{whose} {other} differs in one value, so both are kept:',
    other: '{whose} {other} differs in {count} values, so both are kept:',
  },
  of: '{agents}’s',
  side: '{name} ({agents})',
  another: 'Another server,',
  none: 'not set',
  same: 'the same secret',
  different: 'different secrets',
})

type ComparedValue = Schemas['AgentImportReport']['items'][number]['variants'][number]['values'][number]

interface Props {
  /** The server that is used. */
  readonly own: string
  /** The one of the same name that is not. */
  readonly other: string
  /** Whose server is used: agents, files. */
  readonly ownAgents: readonly string[]
  /** Whose server the other one is. */
  readonly agents: readonly string[]
  readonly values: readonly ComparedValue[]
}

/** Two servers of one name: the values that differ. Secrets are only said to be the same or different. */
export function VariantStrip({ own, other, ownAgents, agents, values }: Props) {
  const short = useShort()
  const count = values.filter(({ secret }) => secret !== 'same').length
  const whose = agents.length === 0 ? t('another') : t('of', { agents: agents.join(', ') })
  const shown = (value: string | null) =>
    value === null ? <span className="muted">{t('none')}</span> : <span className="mono">{short(value)}</span>
  return (
    <div className={css.strip}>
      <p>{t.rich('differs', { count, whose, other: <b key="other">{other}</b> })}</p>
      <dl className={css.values}>
        {values.map(({ label, own: mine, other: theirs, secret }) => (
          <div key={label} className={css.value}>
            <dt className="mono muted">{label.replace(/^(?:env|header) /, '')}</dt>
            {secret === null ? (
              <>
                <dd className={css.pair}>
                  <span>{sideOf(other, agents)}</span>
                  {shown(theirs)}
                </dd>
                <dd className={css.pair}>
                  <b>{sideOf(own, ownAgents)}</b>
                  {shown(mine)}
                </dd>
              </>
            ) : (
              <dd className={`${css.said} ${secret === 'same' ? 'muted' : 'strong'}`}>{t(secret)}</dd>
            )}
          </div>
        ))}
      </dl>
    </div>
  )
}

/** Both may have the same name. */
const sideOf = (name: string, agents: readonly string[]): string =>
  agents.length === 0 ? name : t('side', { name, agents: agents.join(', ') })
