import type { ReactNode } from 'react'
import css from './Parts.module.css'

export function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className={`card ${css.part}`} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  )
}
