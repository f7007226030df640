import type { TSchema } from 'typebox'
import * as Value from 'typebox/value'

/** What is wrong with a value: a clause about the field, without the value. Undefined if it is valid. */
export function problemIn(schema: TSchema, value: unknown): string | undefined {
  if (Value.Check(schema, value)) return undefined
  const [first] = Value.Errors(schema, value)
  if (!first) return 'it is not valid'
  const field = first.instancePath.slice(1).replaceAll('/', '.')
  const message = first.message === 'schema is false' ? 'is not a known field' : first.message
  return `${field === '' ? 'it' : field} ${message}`
}
