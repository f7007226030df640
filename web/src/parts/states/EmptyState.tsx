import type { ReactNode } from 'react'
import css from './EmptyState.module.css'

interface Props {
  /** One sentence. */
  readonly title: string
  /** What would make it not empty. */
  readonly text: string
  /** One main button, and at most one quiet one. */
  readonly children?: ReactNode
}

/** Nothing is here yet, and what to do about it. */
export function EmptyState({ title, text, children }: Props) {
  return (
    <div className={css.empty}>
      <svg width="72" height="40" viewBox="0 0 72 40" aria-hidden="true" className={css.drawing}>
        <rect x="1" y="1" width="70" height="38" rx="6" />
        <path d="M12 9v2M21 9v12M30 9v2M39 9v18M48 9v2M57 9v14" strokeDasharray="2 3" />
      </svg>
      <p className={css.title}>{title}</p>
      <p className="muted">{text}</p>
      {children && <div className={css.actions}>{children}</div>}
    </div>
  )
}
