import * as Type from 'typebox'
import { AppError, type FieldError, invalidField, pointer } from '../../kernel/errors.ts'
import { component } from '../../kernel/rest-parts.ts'
import { closed, text } from '../../kernel/schema-fields.ts'
import { type Carrier, MASK, maskArgs, maskCommand, maskUrl } from '../../kernel/secrets/mask-secrets.ts'
import { publicArgs, publicCommand } from '../../kernel/secrets/public-command.ts'
import { SHOWN_REFERENCE } from '../../kernel/secrets/references.ts'

/**
 * Responses show secrets as `***`; sending `***` back keeps the stored value. Each function takes the new and the stored
 * value and returns the one to store. It throws if nothing is stored: the mask must never become the value.
 */

/** env and headers: matched by key. */
export function keepMaskedValues(
  field: string,
  incoming: Readonly<Record<string, string>>,
  stored: Readonly<Record<string, string>>,
): Record<string, string> {
  const errors: FieldError[] = []
  const kept = Object.entries(incoming).map(([key, value]): [string, string] => {
    if (value !== MASK) return [key, value]
    const before = Object.hasOwn(stored, key) ? stored[key] : undefined
    if (before === undefined) errors.push({ path: `/${field}/${pointer(key)}`, message: nothingStored })
    return [key, before ?? '']
  })
  refuse(field, errors)
  return Object.fromEntries(kept)
}

/** args: matched by position, and only if the number of arguments is the same. Both views are recognised. */
export function keepMaskedArgs(incoming: readonly string[], stored: readonly string[]): string[] {
  const views = [maskArgs(stored), publicArgs('', stored)]
  const errors: FieldError[] = []
  const kept = incoming.map((arg, index) => {
    if (!arg.includes(MASK)) return arg
    const before = stored[index]
    const isShown = views.some((shown) => arg === shown[index])
    if (before !== undefined && isShown && incoming.length === stored.length) return before
    errors.push({
      path: `/args/${index}`,
      message: `contains ${MASK}, which keeps a stored argument only at the same position and with the same number of arguments`,
    })
    return arg
  })
  refuse('args', errors)
  return kept
}

/** command: as either view shows it. */
export function keepMaskedCommand(incoming: string, stored: string | undefined): string {
  if (!incoming.includes(MASK)) return incoming
  if (stored !== undefined && [maskCommand(stored), publicCommand(stored)].includes(incoming)) return stored
  refuse('command', [{ path: '/command', message: `contains ${MASK}, ${nothingStored}` }])
  return incoming
}

/** url: the whole URL, or single query values of the same origin. */
export function keepMaskedUrl(incoming: string, stored: string | undefined): string {
  if (!incoming.includes(MASK)) return incoming
  if (stored !== undefined && incoming === maskUrl(stored)) return stored
  const merged = stored === undefined ? undefined : mergeQuery(incoming, stored)
  if (merged !== undefined) return merged
  refuse('url', [{ path: '/url', message: `contains ${MASK}, ${nothingStored}` }])
  return incoming
}

function mergeQuery(incoming: string, stored: string): string | undefined {
  if (originOf(incoming) === undefined || originOf(incoming) !== originOf(stored)) return undefined
  const [before, now] = [new URL(stored), new URL(incoming)]
  for (const [key, value] of [...now.searchParams]) {
    const kept = before.searchParams.get(key)
    if (value === MASK && kept !== null) now.searchParams.set(key, kept)
  }
  return now.href.includes(MASK) ? undefined : now.href
}

/** Scheme, host and port: where a secret may be sent. Undefined if the text is not a URL. */
export function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined
}

const nothingStored = `is ${MASK}, but no value is stored`

function refuse(field: string, errors: readonly FieldError[]): void {
  if (errors.length === 0) return
  throw new AppError('invalid_input', `${field} contains ${MASK} where no value is stored`, {
    errors,
    hint: `Send the real value, or omit ${field} to keep it unchanged`,
  })
}

/** A map of masked secrets, such as environment variables or headers. A value that is a reference is shown. */
export const masked = (example: Record<string, typeof MASK>) =>
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string', pattern: `^\\*{3}$|${SHOWN_REFERENCE}` },
    examples: [example],
  })

type Field = Exclude<keyof Carrier, 'oauth'>

/** The body of a request for a stored value that views mask. */
export const revealInput = (title: string, fields: readonly Field[]) => {
  const description = 'The variable or the header. For `args`, the position, beginning with 0'
  const name = Type.Optional(text(description, { minLength: 1, maxLength: 256 }))
  const input = closed({ field: Type.Enum([...fields]), name })
  return component({ [title]: input }, 'Which value', { examples: [{ field: fields[0], name: 'API_TOKEN' }] })
}

export interface RevealInput {
  readonly field: Field
  readonly name?: string
}

export const Revealed = Type.Object({ value: Type.String({ examples: ['sk-…'] }) })
export type Revealed = Type.Static<typeof Revealed>
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
