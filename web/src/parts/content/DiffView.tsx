import { useShort } from '../../data/live/home-folder.ts'
import { texts } from '../../i18n/texts.ts'
import { Icon } from '../marks/icons.tsx'
import css from './DiffView.module.css'
import { type DiffLine, linesOf } from './diff-lines.ts'

const t = texts('diff', {
  title: 'Changes in {path}',
  added: 'added',
  removed: 'removed',
  none: 'Nothing changes in this file.',
})

interface Props {
  readonly path: string
  /** A unified diff, with secrets masked by the service. */
  readonly diff: string
}

/** One file: its path, the number of lines that change, and the lines with their numbers. */
export function DiffView({ path: whole, diff }: Props) {
  const path = useShort()(whole)
  const lines = linesOf(diff)
  const count = (kind: DiffLine['kind']) => lines.filter((line) => line.kind === kind).length
  return (
    <figure className={css.diff} aria-label={t('title', { path })}>
      <figcaption className={css.head}>
        <Icon name="file" />
        <span className="mono cut grow">{path}</span>
        <span className="mono ok">+{count('added')}</span>
        <span className="mono err">−{count('removed')}</span>
      </figcaption>
      {lines.length === 0 && <p className={`muted ${css.none}`}>{t('none')}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reachable with the keyboard */}
      <section className={css.lines} tabIndex={0} aria-label={path}>
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines never move
          <Line key={index} line={line} />
        ))}
      </section>
    </figure>
  )
}

function Line({ line: { kind, number, text } }: { readonly line: DiffLine }) {
  const sign = { same: '', gap: '', added: '+', removed: '−' }[kind]
  return (
    <div className={`${css.line} ${css[kind]}`}>
      <span className={css.number}>{number}</span>
      <span className={css.sign}>
        {sign}
        {kind === 'added' && <span className={css.said}>{t('added')}</span>}
        {kind === 'removed' && <span className={css.said}>{t('removed')}</span>}
      </span>
      <span className={css.text}>{kind === 'gap' ? '⋯' : text}</span>
    </div>
  )
}
