import { createContext, useContext } from 'react'
import type { Field } from './schema.ts'
import type { Problems } from './validate.ts'

export interface FormContext {
  readonly problems: Problems
  /** Missing fields are named, too. */
  readonly all: boolean
  /** A box has text that is not JSON. The function must be stable. */
  readonly onBad: (path: string, bad: boolean) => void
}
export const SharedContext = createContext<FormContext>({
  problems: new Map(),
  all: false,
  onBad: () => {},
})
export const useShared = (): FormContext => useContext(SharedContext)

export interface FieldProps {
  readonly field: Field
  readonly name: string
  /** A JSON pointer: `#/labels/0`. */
  readonly path: string
  readonly required: boolean
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}
