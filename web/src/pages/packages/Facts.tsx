import { Glyph } from '../../parts/marks/Glyph.tsx'
import type { Fact } from './facts.ts'
import { t } from './messages.ts'
import css from './Packages.module.css'

const GLYPH = { good: 'tick', look: 'look', unknown: 'unknown' } as const
const TONE = { good: 'ok', look: 'warn', unknown: 'idle' } as const

/** Good facts whisper, those to look at are coloured, unknown is a `?`. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <ul className={css.facts}>
      {facts.map(({ fact, state, text, detail }) => (
        <li key={fact} className={css.fact} data-state={state} title={detail}>
          <span className={TONE[state]} role="img" aria-label={t(state)}>
            <Glyph name={GLYPH[state]} />
          </span>
          {text}
        </li>
      ))}
    </ul>
  )
}
