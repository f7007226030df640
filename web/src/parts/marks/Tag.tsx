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
    <span className={`${css.tag} tinted ${tone}`}>
      {glyph && <Glyph name={glyph} size={10} />}
      {children}
    </span>
  )
}

/** Round: whether what is shown is live. */
export function Pill({ tone = 'idle', glyph, children }: Props) {
  return (
    <span className={`${css.pill} tinted ${tone}`}>
      {glyph && <Glyph name={glyph} />}
      {children}
    </span>
  )
}

/** Where the first letters would not tell two agents apart. */
const LETTERS: Readonly<Record<string, string>> = { Codex: 'Cx', 'VS Code': 'VS' }

/** Two letters for an agent: `CC`, `Cu`. The name is read and shown on hover. */
export function Monogram({ name }: { readonly name: string }) {
  return (
    <abbr className={css.monogram} title={name} aria-label={name}>
      {LETTERS[name] ?? lettersOf(name)}
    </abbr>
  )
}

function lettersOf(name: string): string {
  const [first = '?', second] = name.split(/[\s-]+/).filter(Boolean)
  return second ? `${first[0]}${second[0]}`.toUpperCase() : first.charAt(0).toUpperCase() + first.charAt(1)
}
