import type { Static } from 'typebox'
import * as Type from 'typebox'
import { AppError, invalidField } from '../../kernel/errors.ts'
import type { Carrier } from '../../kernel/secrets/secrets.ts'
import { component } from '../../kernel/wire.ts'

type Field = Exclude<keyof Carrier, 'oauth'>

/** The body of a request for a stored value that views mask. */
export const revealInput = (title: string, fields: readonly Field[]) =>
  component(
    {
      [title]: Type.Object(
        {
          field: Type.Enum([...fields]),
          name: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 256,
              description: 'The variable or the header. For `args`, the position, beginning with 0',
            }),
          ),
        },
        { additionalProperties: false, examples: [{ field: fields[0], name: 'API_TOKEN' }] },
      ),
    },
    'Which value',
  )

export interface RevealInput {
  readonly field: Field
  readonly name?: string
}

export const Revealed = Type.Object({ value: Type.String({ examples: ['sk-…'] }) })
export type Revealed = Static<typeof Revealed>
component({ Revealed }, 'A stored value in full')

/** The stored value. Throws when there is none. */
export function storedValue(carrier: Carrier, { field, name }: RevealInput): string {
  const stored = carrier[field]
  if (typeof stored === 'string') {
    if (name !== undefined) throw invalidField('/name', `must be omitted: ${field} is a single value`)
    return stored
  }
  if (name === undefined) throw invalidField('/name', `is required for ${field}`)
  const value = Object.entries(stored ?? {}).find(([key]) => key === name)?.[1]
  if (value === undefined)
    throw new AppError('not_found', `The server has no '${name.slice(0, 100)}' in ${field}`)
  return value
}
