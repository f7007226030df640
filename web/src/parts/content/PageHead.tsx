import { type ReactNode, useEffect } from 'react'
import css from './PageHead.module.css'

interface Props {
  readonly title: ReactNode
  /** Beside the title, in grey: `11`, `6 × 11 servers`. */
  readonly count?: ReactNode
  /** The title of the tab, if `title` is not a text. */
  readonly tab?: string
  /** At the right: filters, and the main button last. */
  readonly children?: ReactNode
}

/** The title of the page and its tools. There is one on every page, and it names the tab. */
export function PageHead({ title, count, tab, children }: Props) {
  usePageTitle(tab ?? (typeof title === 'string' ? title : ''))
  return (
    <div className={css.head}>
      <h1 className={css.title}>{title}</h1>
      {count !== undefined && <span className={css.count}>{count}</span>}
      {children && <div className={css.tools}>{children}</div>}
    </div>
  )
}

/** The layout puts the number of notices in front of it. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.documentElement.dataset.page = title
    document.dispatchEvent(new Event('page-title'))
  }, [title])
}
