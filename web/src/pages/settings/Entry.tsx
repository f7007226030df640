import type { ReactNode } from 'react'
import css from './Settings.module.css'

interface Props {
  readonly name: string
  readonly text?: string
  /** The key in config.json and the variable. */
  readonly keys?: string
  readonly children?: ReactNode
}

/** A setting: its name, one sentence, the key and the variable; the control at the right. */
export function Entry({ name, text, keys, children }: Props) {
  return (
    <div className={css.entry}>
      <div className={css.about}>
        <p className="strong">{name}</p>
        {text && <p className="muted sm">{text}</p>}
        {keys && <p className="mono muted xs">{keys}</p>}
      </div>
      <div className={css.control}>{children}</div>
    </div>
  )
}

interface GroupProps {
  readonly id: string
  readonly title: string
  readonly children: ReactNode
}

export function Group({ id, title, children }: GroupProps) {
  return (
    <section className={css.group} id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      <div className="card">{children}</div>
    </section>
  )
}
