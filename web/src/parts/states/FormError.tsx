import { useEffect, useRef } from 'react'
import { ApiError } from '../../data/api.ts'
import { ErrorState } from './ErrorState.tsx'

/** What the service says about single fields, by the name of the field. */
export function fieldProblems(error: unknown): Readonly<Record<string, string>> {
  const problems = error instanceof ApiError ? error.fields : []
  return Object.fromEntries(problems.map(({ path, message }) => [path.split('/')[1] ?? '', message]))
}

/** Why a form was not accepted. The field that it is about gets the focus; without one, the error is scrolled into view. */
export function FormError({ error }: { readonly error: unknown }) {
  const root = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!error) return
    const form = root.current?.closest('form')
    const field = Object.keys(fieldProblems(error))
      .map((name) => form?.querySelector<HTMLElement>(`[data-field="${CSS.escape(name)}"]`))
      .find((element) => element)
    field?.focus()
    ;(field ?? root.current)?.scrollIntoView({ block: 'center' })
  }, [error])
  return <div ref={root}>{Boolean(error) && <ErrorState error={error} />}</div>
}
