import type { ReactNode } from 'react'
import { Glyph, type GlyphName, type Tone } from './Glyph.tsx'
import css from './Tag.module.css'

interface Props {
  readonly tone?: Tone
  readonly glyph?: GlyphName
  readonly children: ReactNode
}

export function Tag({ tone = 'idle', glyph, children }: Props) {
  return (
    <span className={`${css.tag} ${css[tone]}`}>
      {glyph && <Glyph name={glyph} size={10} />}
      {children}
    </span>
  )
}

/** Two letters for an agent: `CC`, `Cu`. The name is read and shown on hover. */
export function Monogram({ name }: { readonly name: string }) {
  const words = name.split(/[\s-]+/).filter(Boolean)
  const [first = '?', second] = words
  const letters = second
    ? `${first[0]}${second[0]}`.toUpperCase()
    : `${first[0]?.toUpperCase()}${first[1] ?? ''}`
  return (
    <abbr className={css.monogram} title={name} aria-label={name}>
      {letters}
    </abbr>
  )
}
