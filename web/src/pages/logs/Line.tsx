import { iso, millis } from '../../format/format.ts'
import css from './Lines.module.css'
import { t } from './messages.ts'
import { type LineRow, piecesOf } from './rows.ts'

interface Props {
  readonly row: LineRow
  readonly name: string | null | undefined
  readonly sought: string
  readonly isSelected?: boolean
  readonly index?: number
  /** Its place in the list; undefined outside of a virtual list. */
  readonly start?: number
  readonly measure?: ((element: Element | null) => void) | undefined
  readonly isOpened?: boolean
  readonly onToggle?: (id: number | null) => void
  readonly onAround?: (id: number) => void
}

const STREAM = { stdout: 'out', stderr: 'err', mcp: 'mcp' } as const
const TONE: Readonly<Record<string, string>> = { warn: 'warn', error: 'err', fatal: 'err' }

/** One line: its level is the colour of its edge and a word. */
export function Line({ row, name, sought, isSelected = false, index, start, measure, ...rest }: Props) {
  const { line, trace, isTrace } = row
  const { id, level, stream, ts, message, repeat, truncated } = line
  const at = millis(ts)
  const tone = TONE[level]
  return (
    <div
      ref={measure}
      className={css.line}
      data-index={index}
      data-id={id ?? undefined}
      data-tone={tone}
      data-selected={isSelected || undefined}
      style={start === undefined ? undefined : { position: 'absolute', transform: `translateY(${start}px)` }}
    >
      {isTrace ? (
        <span className={css.time} />
      ) : (
        <button
          type="button"
          className={css.time}
          tabIndex={-1}
          title={iso(ts)}
          aria-label={t('aroundLine', { at })}
          onClick={() => id !== null && rest.onAround?.(id)}
        >
          {at}
        </button>
      )}
      <span className="cut">{!isTrace && (name ?? t('toolroom'))}</span>
      <span className="muted">{!isTrace && (stream === null ? t('none') : STREAM[stream])}</span>
      <span className={tone === undefined ? 'muted' : `${tone} ${css.level}`}>{!isTrace && level}</span>
      <span className={isTrace ? css.trace : css.message}>
        {piecesOf(message, sought).map((piece, at) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: a piece has no other name
          at % 2 === 1 ? <mark key={at}>{piece}</mark> : piece,
        )}
        {repeat > 1 && <span className="muted"> {t('repeated', { count: repeat })}</span>}
        {truncated && <span className="muted"> {t('cut')}</span>}
        {trace > 0 && (
          <button
            type="button"
            className={css.fold}
            aria-expanded={rest.isOpened}
            onClick={() => rest.onToggle?.(id)}
          >
            {rest.isOpened ? t('fewer', { count: trace }) : t('more', { count: trace })}
          </button>
        )}
      </span>
    </div>
  )
}
