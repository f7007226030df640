import * as Type from 'typebox'
import { objects, texts } from '../kernel/schema-fields.ts'
import {
  escapeReferences,
  isReference,
  parseReferences,
  type Reference,
  writeReference,
} from '../kernel/secrets/references.ts'
import { changeTexts } from '../servers/shared/definition/definition-references.ts'
import { hasPlaceholder, placeholderNote, placeholdersOf } from './read/snippet/snippet-placeholders.ts'
import type { Definition } from './translate/translate-definition-references.ts'

/** What a snippet leaves open, and the values that a user gives for it. */

const MOST_VALUES = 50

export const valuesField = Type.Optional(
  Type.Record(Type.String({ maxLength: 256 }), Type.String({ maxLength: 32_768 }), {
    maxProperties: MOST_VALUES,
    writeOnly: true,
    description:
      'Values in place of `placeholders` of a dry run, by their text. The value of a reference to a secret becomes that named secret. Others are ignored',
    examples: [{ '<YOUR_TOKEN>': 'ghp_…' }],
  }),
)

export const placeholdersField = objects(
  'What has to be replaced before the server works. `values` does it',
  {
    text: Type.String({ examples: ['<YOUR_TOKEN>'] }),
    in: texts('Where it stands', { examples: [['header Authorization']] }),
  },
)
type Placeholders = Type.Static<typeof placeholdersField>

type IsSet = (reference: Reference) => boolean
export type Values = Readonly<Record<string, string>>

/** Placeholders of READMEs, and references without a value. */
export function placeholdersIn(definition: Definition, isSet: IsSet): Placeholders {
  const found = new Map<string, Set<string>>()
  const see = (label: string, text: string) => found.set(text, (found.get(text) ?? new Set()).add(label))
  const seeText = (label: string, text: string) => {
    for (const placeholder of placeholdersOf(text)) see(label, placeholder)
  }
  changeTexts(definition, ({ label, text }) => {
    for (const part of parseReferences(text)) {
      if (typeof part === 'string') seeText(label, part)
      else if (isReference(part) && part.fallback === null && !isSet(part)) see(label, writeReference(part))
    }
    return text
  })
  if (definition.type === 'stdio') {
    seeText('command', definition.command)
    seeText('cwd', definition.cwd ?? '')
  }
  return [...found].slice(0, MOST_VALUES).map(([text, labels]) => ({ text, in: [...labels] }))
}

/** The definition with the values in their places, and the named secrets that get one. */
export function withValues(
  definition: Definition,
  values: Values,
  isSet: IsSet,
): { readonly definition: Definition; readonly secrets: ReadonlyMap<string, string> } {
  const secrets = new Map<string, string>()
  const filled = changeTexts(definition, ({ text }) => {
    let [out, literal, isChanged] = ['', '', false]
    const say = (said: string, before: string) => {
      literal += said
      isChanged ||= said !== before
    }
    for (const part of parseReferences(text)) {
      if (typeof part === 'string') say(filledText(part, values), part)
      else {
        const written = isReference(part) ? writeReference(part) : part.malformed
        const isOpen = isReference(part) && part.fallback === null && !isSet(part)
        const value = isOpen ? valueFor(written, values) : undefined
        if (value !== undefined && isOpen && part.kind === 'env') say(value, written)
        else {
          if (value !== undefined && isOpen) secrets.set(part.name, value)
          out += escapeReferences(literal) + written
          literal = ''
        }
      }
    }
    return isChanged ? out + escapeReferences(literal) : text
  })
  if (filled.type === 'http') return { definition: filled, secrets }
  const { command, cwd } = filled
  const places = {
    command: filledText(command, values),
    ...(cwd !== undefined && { cwd: filledText(cwd, values) }),
  }
  return { definition: { ...filled, ...places }, secrets }
}

function filledText(text: string, values: Values): string {
  let parts: readonly (string | { readonly value: string })[] = [text]
  for (const placeholder of placeholdersOf(text)) {
    const value = valueFor(placeholder, values)
    if (value === undefined) continue
    parts = parts.flatMap((part) =>
      typeof part === 'string'
        ? part.split(placeholder).flatMap((piece, index) => (index === 0 ? [piece] : [{ value }, piece]))
        : [part],
    )
  }
  return parts.map((part) => (typeof part === 'string' ? part : part.value)).join('')
}

const valueFor = (placeholder: string, values: Values): string | undefined =>
  Object.hasOwn(values, placeholder) && values[placeholder] !== '' ? values[placeholder] : undefined

/** The notes that are still true: those about a placeholder that has a value now are not. */
export function notesLeft(notes: readonly string[], before: Definition, now: Definition): string[] {
  const left = labelsIn(now)
  const filled = [...labelsIn(before)].filter((label) => !left.has(label)).map(placeholderNote)
  return notes.filter((note) => !filled.includes(note))
}

function labelsIn(definition: Definition): ReadonlySet<string> {
  const labels = new Set<string>()
  const { command = '', cwd = '' } = definition.type === 'stdio' ? definition : {}
  if (hasPlaceholder(command)) labels.add('command')
  if (hasPlaceholder(cwd)) labels.add('cwd')
  changeTexts(definition, ({ label, text }) => {
    if (hasPlaceholder(text)) labels.add(label)
    return text
  })
  return labels
}
