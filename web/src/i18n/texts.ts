import type { ReactNode } from 'react'

/**
 * Every visible text has a key. A folder declares its texts once, in `messages.ts`:
 *
 *   export const t = texts('home', { calls: 'Calls', more: { one: '{count} more', other: '{count} more' } })
 *   t('calls')   t('more', { count: 3 })   t.rich('saw', { agent: <b>Codex</b> })
 *
 * A text with `one` and `other` is chosen by `count`. A translation is a table with the same keys; see `translate`.
 */

type Plural = { readonly one: string; readonly other: string }
type Message = string | Plural
type Texts = Readonly<Record<string, Message>>
type TextOf<M> = M extends string ? M : M extends Plural ? M['one'] | M['other'] : never
type Names<S> = S extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never
type Values<M, V> = M extends Plural
  ? { readonly [K in Names<TextOf<M>> | 'count']: K extends 'count' ? number : V }
  : { readonly [K in Names<TextOf<M>>]: V }
type Given<M, V> = keyof Values<M, V> extends never ? [] : [values: Values<M, V>]

export interface Translate<T extends Texts> {
  <K extends keyof T & string>(key: K, ...values: Given<T[K], string | number>): string
  /** With elements as values, for names in bold or links inside a sentence. */
  rich<K extends keyof T & string>(key: K, ...values: Given<T[K], ReactNode>): ReactNode[]
}

const translations = new Map<string, Texts>()
const plurals = new Intl.PluralRules('en')

/** Replaces the texts of a folder by those of another language. Missing keys stay English. */
export function translate(folder: string, table: Texts): void {
  translations.set(folder, table)
}

export function texts<const T extends Texts>(folder: string, english: T): Translate<T> {
  const find = (key: string, values: Readonly<Record<string, unknown>>): string => {
    const message = translations.get(folder)?.[key] ?? english[key] ?? key
    if (typeof message === 'string') return message
    return plurals.select(Number(values.count)) === 'one' ? message.one : message.other
  }
  const t = (key: string, values: Readonly<Record<string, string | number>> = {}) =>
    find(key, values).replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole))
  const rich = (key: string, values: Readonly<Record<string, ReactNode>> = {}) =>
    find(key, values)
      .split(/\{(\w+)\}/)
      .map((part, index) => (index % 2 === 0 ? part : values[part]))
  return Object.assign(t, { rich }) as unknown as Translate<T>
}
