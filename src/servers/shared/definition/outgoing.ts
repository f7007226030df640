import { createHash } from 'node:crypto'
import * as Type from 'typebox'
import { AppError } from '../../../kernel/errors.ts'
import { memo } from '../../../kernel/memo.ts'
import { component } from '../../../kernel/rest-parts.ts'
import { boolean, closed, text, textOrNull } from '../../../kernel/schema-fields.ts'
import { type Carrier, maskArgs, maskCommand } from '../../../kernel/secrets/mask-secrets.ts'
import { isReference, parseReferences, writeReference } from '../../../kernel/secrets/references.ts'
import type { LastError } from '../../../kernel/server-state.ts'
import { type PlacedReference, referencesIn } from './definition-references.ts'

/**
 * What a server gets of Toolroom's environment and of the named secrets: each reference, its place, and who receives the
 * value. A server that was made from text of others gets no value before a person has allowed exactly that.
 */

const reference = Type.String({ maxLength: 200, examples: ['$' + '{env:API_KEY}'] })
const to = text('The place in the definition', { maxLength: 100, examples: ['header Authorization'] })
const host = textOrNull(
  'The host that the value is sent to. null: a program on this computer gets it, and may send it anywhere',
  { maxLength: 4096, examples: ['mcp.example.com'] },
)
const program = textOrNull('The command line that gets the value, with secrets masked. null for a URL', {
  maxLength: 65_536,
  examples: [null],
})

const named = { reference, to, host, program }
export const Outgoing = Type.Object({
  ...named,
  allowed: boolean('A person has allowed it. While one is not allowed, the server is off'),
})
export type Outgoing = Type.Static<typeof Outgoing>
component({ Outgoing }, 'A variable or secret whose value a server gets, and where it goes')

/** The field of views. */
export const outgoing = Type.Array(Outgoing, {
  description:
    'The variables of Toolroom and named secrets that it refers to. While one of them is not allowed, the server is off: it is not started, connected or called. `allow_outgoing` of a change allows them',
})

const AllowedOutgoing = closed({
  reference,
  to,
  host: Type.Optional(host),
  program: Type.Optional(program),
})
component({ AllowedOutgoing }, 'One item of `outgoing` that a person allows', {
  examples: [{ reference: '$' + '{env:API_KEY}', to: 'header Authorization', host: 'mcp.example.com' }],
})

export const AllowOutgoing = Type.Array(AllowedOutgoing, {
  maxItems: 2000,
  description:
    'What a person allows the server to get: items of `outgoing`. Each one counts only for exactly this variable, place and destination',
})
export type AllowOutgoing = Type.Static<typeof AllowOutgoing>

/** The fields of a server that decide what gets the values. */
export interface Receiver extends Carrier {
  readonly cwd?: string | null
  readonly package?: string | null
  readonly isolation?: string
  readonly isolation_options?: unknown
}

/** A stored server. The list has a key for each reference that was allowed, with its place and its receiver. */
export interface Permitted extends Receiver {
  readonly outgoing_allowed: readonly string[]
}

/** Whether a person has allowed a reference. */
export type Allows = (placed: PlacedReference) => boolean

/** Of a definition that a person has written field by field, and of what is tried out at once and not kept. */
export const allowsAll: Allows = () => true

/** The keys of what is allowed in a definition. */
export const keysOf = (definition: Receiver, allows: Allows): string[] =>
  referencesIn(definition)
    .filter(allows)
    .map((placed) => keyOf(definition, placed))

/** What was allowed in this server, as it was. For a change that is undone. */
export function allowedIn(server: Permitted): Allows {
  const before = new Set(allowedPlaces(server))
  return (placed) => before.has(placeOf(placed))
}

/** After an import has changed a server: what was allowed for the same receiver, and what is allowed now. */
export function keysAfterImport(before: Permitted, after: Receiver, allows: Allows): string[] {
  const known = new Set(before.outgoing_allowed)
  return keysOf(after, (placed) => known.has(keyOf(after, placed)) || allows(placed))
}

/** After a person has changed fields: what was allowed in the same place, and what the change writes. */
export function keysAfterEdit(before: Permitted, after: Receiver, allows: Allows): string[] {
  const allowed = new Set(allowedPlaces(before))
  const had = new Set(referencesIn(before).map(placeOf))
  return keysOf(after, (placed) => {
    const place = placeOf(placed)
    return allowed.has(place) || !had.has(place) || allows(placed)
  })
}

const allowedPlaces = (server: Permitted): string[] => {
  const known = new Set(server.outgoing_allowed)
  return referencesIn(server)
    .filter((placed) => known.has(keyOf(server, placed)))
    .map(placeOf)
}

const placeOf = ({ path, reference }: PlacedReference): string =>
  `${path} ${writeReference({ ...reference, fallback: null })}`

/** What the server gets, with what was allowed. The key of a value is the same only for the same receiver. */
export const outgoingOf = memo((server: Permitted): readonly Outgoing[] => {
  const known = new Set(server.outgoing_allowed)
  return listed(server, (placed) => known.has(keyOf(server, placed)))
})

/** Of a definition that is not registered: nothing of it is allowed yet, except what these items name. */
export function outgoingIn(definition: Receiver, items: AllowOutgoing = []): Outgoing[] {
  const allows = allowsOf(definition, items)
  return listed(definition, allows)
}

function listed(definition: Receiver, allows: Allows): Outgoing[] {
  return referencesIn(definition).map((placed) => ({
    ...shownOf(definition, placed),
    allowed: allows(placed),
  }))
}

/** Whether these items name a reference of the definition, its place and its destination. */
export function allowsOf(definition: Receiver, items: AllowOutgoing): Allows {
  const allowed = new Set(items.map(textOf))
  return (placed) => allowed.has(textOf(shownOf(definition, placed)))
}

export const isSameOutgoing = (one: AllowOutgoing[number], other: AllowOutgoing[number]): boolean =>
  textOf(one) === textOf(other)

/** As `allow_outgoing` names it. */
export const namedOutgoing = ({ allowed: _, ...named }: Outgoing): AllowOutgoing[number] => named

const textOf = ({ reference, to, host = null, program = null }: AllowOutgoing[number]): string =>
  JSON.stringify([reference, to, host, program])

/** Why a server is off; undefined if everything that it gets is allowed. */
export const notAllowed = memo((server: Permitted): { readonly error: LastError | undefined } => {
  const held = outgoingOf(server).filter(({ allowed }) => !allowed)
  const [first, ...others] = held
  if (!first) return { error: undefined }
  const more = others.length === 0 ? '' : `, and ${others.length} more`
  return {
    error: {
      code: NOT_ALLOWED,
      message: `It ${IS_OFF}: ${outgoingText(first)}${more}`,
      hint: 'Look at each value and where it goes, then allow them',
      action: { kind: 'allow_outgoing' },
    },
  }
})

const IS_OFF = 'is off until you allow what it would get'
const NOT_ALLOWED = 'outgoing_not_allowed'

export const isHeld = (server: Permitted): boolean => notAllowed(server).error !== undefined

/** The error of a request for a server that is off. */
export const held = (
  { id, name }: { readonly id: string; readonly name: string },
  error: LastError,
): AppError =>
  new AppError(NOT_ALLOWED, `'${name}' ${error.message.slice('It '.length)}`, {
    hint: `A person allows it on its page, or with: toolroom allow ${id}`,
    members: { last_error: { ...error, action: error.action ?? null } },
  })

const MAX_TEXT = 120

/** One value in words. */
export function outgoingText({ reference, to, host, program }: Omit<Outgoing, 'allowed'>): string {
  const line = program ?? ''
  const shown = line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT)}…` : line
  const goes = host === null ? `to the program ${shown}` : `to ${host}`
  return `${reference} in ${to} ${goes}`
}

function shownOf(definition: Receiver, placed: PlacedReference): Omit<Outgoing, 'allowed'> {
  const { label } = placed
  const reference = writeReference({ ...placed.reference, fallback: null })
  const { command, args = [], url } = definition
  const to = visible(label)
  if (command === undefined || url !== undefined)
    return { reference, to, host: visible(hostOf(url ?? '')), program: null }
  return {
    reference,
    to,
    host: null,
    program: programText(maskCommand(command), maskArgs(args)),
  }
}

/** Two command lines that differ have different texts. */
export const programText = (command: string, args: readonly string[]): string =>
  [command, ...args].map((word) => (PLAIN.test(word) ? word : visible(JSON.stringify(word)))).join(' ')

const PLAIN = /^[\w@%+=:,./~${}*-]+$/

/** Characters that are not seen, or that change the order of others, as their codes. */
const visible = (written: string): string =>
  written.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (each) => `\\u{${each.codePointAt(0)?.toString(16)}}`)

/** Host and port. A reference in them stays one, with its default: its value decides. */
function hostOf(url: string): string {
  let host = ''
  for (const part of parseReferences(url.replace(/^https?:\/\//i, ''))) {
    if (typeof part === 'string') {
      const own = /^[^/?#\\]*/.exec(part)?.[0] ?? ''
      host += own
      if (own.length < part.length) break
    } else host += isReference(part) ? writeReference(part) : part.malformed
  }
  const scheme = /^https?:\/\//i.exec(url)?.[0]
  const isPlain = scheme !== undefined && !host.includes('$') && URL.canParse(`${scheme}${host}`)
  return isPlain ? new URL(`${scheme}${host}`).host : host
}

/** Of the reference, its place and everything that decides who gets the value. */
function keyOf(definition: Receiver, placed: PlacedReference): string {
  return createHash('sha256')
    .update(JSON.stringify([placeOf(placed), receiverOf(definition)]))
    .digest('base64url')
}

const receiverOf = memo((definition: Receiver): string => {
  const { url, command, args, env, cwd, package: from, isolation, isolation_options } = definition
  if (command === undefined && url !== undefined) return originOf(url)
  const options = isolation === 'none' ? null : isolation_options
  const text = JSON.stringify([command, args, env, cwd ?? null, from ?? null, isolation, options])
  return createHash('sha256').update(text).digest('base64url')
})

/** Where a reference decides about the host, the whole URL as it is written. */
function originOf(url: string): string {
  const host = hostOf(url)
  const scheme = /^https?:\/\//i.exec(url)?.[0]
  return scheme === undefined || host.includes('$') ? url : `${scheme.toLowerCase()}${host}`
}
