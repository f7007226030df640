import { useEffect, useState } from 'react'
import { texts } from '../../i18n/texts.ts'
import css from './Skeleton.module.css'

const t = texts('skeleton', { loading: 'Loading' })
const AFTER_MS = 150
const WIDTHS = ['64%', '88%', '46%', '72%']

interface Props {
  readonly rows: number
  /** The height of a row of the content that comes. */
  readonly height?: number
}

/** Grey bars of the same height as the content, after 150 ms. */
export function Skeleton({ rows, height = 36 }: Props) {
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), AFTER_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div role="status" aria-label={t('loading')}>
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the bars are all alike
        <div key={index} className={css.row} style={{ height }}>
          {isLate && <span className={css.bar} style={{ width: WIDTHS[index % WIDTHS.length] }} />}
        </div>
      ))}
    </div>
  )
}
