import type { ReactNode } from 'react'
import { asTyped } from '../../data/browser/program.ts'
import type { Tone } from '../marks/Glyph.tsx'
import css from './CauseStrip.module.css'

interface Props {
  readonly tone: Tone
  /** What happened, or what to do: one sentence. */
  readonly sentence: ReactNode
  /** One verbatim line. */
  readonly evidence?: string | null | undefined
  /** What to do about it, if the sentence does not say so. */
  readonly advice?: ReactNode
  readonly children?: ReactNode
}

/** A cause: a sunken strip with a rule in the colour of the state, the sentence, the evidence, and buttons. */
export function CauseStrip({ tone, sentence, evidence, advice, children }: Props) {
  return (
    <div className={`${css.strip} ${css[tone]}`}>
      <p className={css.text}>
        <b className={css.sentence}>{sentence}</b>{' '}
        {evidence && <span className={`mono ${tone}`}>{evidence}</span>}
        {advice && <span>{typeof advice === 'string' ? asTyped(advice) : advice}</span>}
      </p>
      {children && <div className={css.actions}>{children}</div>}
    </div>
  )
}
