import type { Confinement } from '../../data/server/isolation.ts'
import { Icon } from '../marks/icons.tsx'
import css from './Isolation.module.css'
import { isolationText } from './isolation.ts'

const ICONS = { sandbox: 'shield', container: 'packages' } as const

/** On a row: it runs in a sandbox or in a container. What is open there is read, and shown on hover. */
export function PlaceMark({ confinement }: { readonly confinement: Confinement }) {
  if (confinement.isolation === 'none') return null
  const text = isolationText(confinement)
  return (
    <span className={css.mark} role="img" aria-label={text} title={text}>
      <Icon name={ICONS[confinement.isolation]} size={14} />
    </span>
  )
}

/** The same in words. */
export function PlaceText({ confinement }: { readonly confinement: Confinement }) {
  if (confinement.isolation === 'none') return null
  return (
    <p className={`${css.place} sm muted`}>
      <Icon name={ICONS[confinement.isolation]} size={14} />
      <span>{isolationText(confinement)}</span>
    </p>
  )
}
