import type { Outgoing } from '../../data/outgoing.ts'
import { t } from './messages.ts'
import css from './OutgoingList.module.css'

/** Each value that a server gets: the variable or secret, its place, and the host or the program that receives it. */
export function OutgoingList({ outgoing }: { readonly outgoing: readonly Outgoing[] }) {
  return (
    <ul className={css.list} aria-label={t('outgoing')}>
      {outgoing.map(({ reference, to, host, program }) => (
        <li key={JSON.stringify([reference, to])} className={css.item}>
          <b className="mono strong">{reference}</b>
          <span className="muted sm">{t('outgoingIn', { place: to })}</span>
          <span className="sm">
            {host === null ? t('outgoingToProgram') : t('outgoingToHost')}{' '}
            <span className="mono">{host ?? program}</span>
          </span>
        </li>
      ))}
    </ul>
  )
}
