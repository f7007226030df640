import type { Walls } from '../../data/server/walls.ts'
import { Icon } from '../marks/icons.tsx'
import css from './Walls.module.css'
import { wallsText } from './walls.ts'

const ICONS = { sandbox: 'shield', container: 'packages' } as const

/** On a row: it runs in a sandbox or in a container. What is open there is read, and shown on hover. */
export function PlaceMark({ walls }: { readonly walls: Walls }) {
  if (walls.isolation === 'none') return null
  const text = wallsText(walls)
  return (
    <span className={css.mark} role="img" aria-label={text} title={text}>
      <Icon name={ICONS[walls.isolation]} size={14} />
    </span>
  )
}

/** The same in words. */
export function PlaceText({ walls }: { readonly walls: Walls }) {
  if (walls.isolation === 'none') return null
  return (
    <p className={`${css.place} sm muted`}>
      <Icon name={ICONS[walls.isolation]} size={14} />
      <span>{wallsText(walls)}</span>
    </p>
  )
}
