import { useCallback, useMemo } from 'react'
import { useLocation, useSearch } from 'wouter'

/**
 * State in the address: filters, tabs, ranges, what is selected. A page declares its parameters once:
 *
 *   const search = searchState({ window: oneOf(WINDOWS, '1h'), q: text(), tab: oneOf(TABS, 'overview') })
 *   const [{ window, q }, setSearch] = useSearchState(search)
 *   setSearch({ window: '5m' })                 // replaces the entry of the history
 *   setSearch({ tab: 'tools' }, { push: true }) // the back button returns
 *
 * A value that is the default is not in the address. An unknown value counts as the default.
 */

export interface Param<T> {
  readonly fallback: T
  read(text: string): T | undefined
  write(value: T): string
}
type Params = Readonly<Record<string, Param<unknown>>>
type StateOf<P extends Params> = { readonly [K in keyof P]: P[K] extends Param<infer T> ? T : never }

export function oneOf<const T extends string>(values: readonly T[], fallback: NoInfer<T>): Param<T> {
  return { fallback, read: (text) => values.find((value) => value === text), write: (value) => value }
}
export function text(fallback = ''): Param<string> {
  return { fallback, read: (given) => given, write: (value) => value }
}
export function flag(): Param<boolean> {
  return { fallback: false, read: (given) => given === '1', write: (value) => (value ? '1' : '') }
}
export function number(): Param<number | undefined> {
  const read = (given: string) => (/^\d{1,15}$/.test(given) ? Number(given) : undefined)
  return { fallback: undefined, read, write: (value) => (value === undefined ? '' : String(value)) }
}
/** Several values, separated by commas. */
export function list(): Param<readonly string[]> {
  const read = (given: string) => given.split(',').filter(Boolean)
  return { fallback: [], read, write: (values) => values.join(',') }
}

export const searchState = <P extends Params>(params: P): P => params

type Change<P extends Params> = (change: Partial<StateOf<P>>, options?: { readonly push?: boolean }) => void

export function useSearchState<P extends Params>(params: P): [StateOf<P>, Change<P>] {
  const query = useSearch()
  const [path, navigate] = useLocation()
  const state = useMemo(() => readState(params, query), [params, query])
  const change = useCallback<Change<P>>(
    (changes, { push = false } = {}) => {
      const next = new URLSearchParams(location.search)
      for (const [name, value] of Object.entries(changes)) {
        const param = params[name]
        if (!param) continue
        const written = param.write(value)
        if (written === '' || written === param.write(param.fallback)) next.delete(name)
        else next.set(name, written)
      }
      const rest = next.toString()
      navigate(rest === '' ? path : `${path}?${rest}`, { replace: !push })
    },
    [params, path, navigate],
  )
  return [state, change]
}

function readState<P extends Params>(params: P, query: string): StateOf<P> {
  const given = new URLSearchParams(query)
  const entries = Object.entries(params).map(([name, { read, fallback }]) => {
    const found = given.get(name)
    return [name, (found === null ? undefined : read(found)) ?? fallback]
  })
  return Object.fromEntries(entries) as StateOf<P>
}
