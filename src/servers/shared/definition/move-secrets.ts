import {
  type Carrier,
  isSecretName,
  MASK,
  maskArg,
  maskCommand,
} from '../../../kernel/secrets/mask-secrets.ts'
import { parseReferences, resolveReferences, writeReference } from '../../../kernel/secrets/references.ts'
import { changeTexts, type PlacedText } from './definition-references.ts'

export interface PlainSecret {
  /** `env API_KEY`, `argument 3`, `header Authorization`, `url`. */
  readonly label: string
  /** A suggestion. */
  readonly name: string
  readonly value: string
}

/** Where a definition has secrets as plain text. */
export const plainSecretsIn = (definition: Carrier): string[] => {
  const found: PlainSecret[] = []
  moveSecrets(definition, '', (secret) => {
    found.push(secret)
    return secret.name
  })
  return [...new Set(found.map(({ label }) => label))]
}

/**
 * The definition with its plain secrets replaced by references to named ones. `nameFor` returns the name of a secret.
 * A text stays as it is where the replacement would not resolve to the same text.
 */
export function moveSecrets<T extends Carrier>(
  definition: T,
  prefix: string,
  nameFor: (secret: PlainSecret) => string,
): T {
  const { args = [] } = definition
  return changeTexts(definition, (placed) => {
    const found = new Map<string, string>()
    const name = suggestionFor(placed, args, prefix)
    // A mark stands for each reference, which would itself look like a named secret.
    const references: string[] = []
    const replace = (value: string): string => {
      if (PLACEHOLDER.test(value)) return value
      const chosen = nameFor({ label: placed.label, name, value })
      found.set(chosen, value)
      references.push(writeReference({ kind: 'secret', name: chosen, fallback: null }))
      return `\ue000${references.length - 1}\ue001`
    }
    if (parseReferences(placed.text).some((part) => typeof part === 'object')) return placed.text
    const marked = movedText(placed, args, replace)
    const moved = marked.replace(/\ue000(\d{1,4})\ue001/g, (all, index) => references[Number(index)] ?? all)
    const back = resolveReferences(moved, (reference) => found.get(reference.name))
    const isSame = 'text' in back && back.text === plain(placed.text) && !addsMask(placed.text, moved)
    return isSame ? moved : placed.text
  })
}

/** A reference of another program, which is not the secret itself. */
const PLACEHOLDER = /^(?:[^\s]{0,64}\s)?(?:\$?\{[^{}]*\}|\$\w+|%\w+%|<[^<>]*>)$/

type Replace = (value: string) => string

const SCHEME = /^(?:Bearer|Basic|Token)\s{1,8}(?=\S)/i

function movedText({ path, text }: PlacedText, args: readonly string[], replace: Replace): string {
  const [, field = '', key = ''] = path.split('/')
  if (text === '' || text.trim() === '') return text
  if (field === 'url') return movedQuery(text, replace)
  if (field === 'args') return maskArg(text, args[Number(key) - 1], replace)
  if (!isSecretName(key)) return maskArg(text, undefined, replace)
  const scheme = SCHEME.exec(text)?.[0] ?? ''
  return scheme + replace(plain(text.slice(scheme.length)))
}

const QUERY_VALUE = /([?&])([^=&#]{1,256})=([^&#]+)/g

/** The text of a value stays as it is encoded. */
function movedQuery(url: string, replace: Replace): string {
  return url.replace(QUERY_VALUE, (all, sign: string, name: string, value: string) => {
    const isSecret = isSecretName(name) || maskCommand(value) !== value
    return isSecret ? `${sign}${name}=${replace(value)}` : all
  })
}

const addsMask = (before: string, after: string): boolean => after.includes(MASK) && !before.includes(MASK)

/** Text without escapes. */
const plain = (text: string): string => {
  const result = resolveReferences(text, () => undefined)
  return 'text' in result ? result.text : text
}

function suggestionFor({ path }: PlacedText, args: readonly string[], prefix: string): string {
  const [, field = '', key = ''] = path.split('/')
  if (field === 'env') return nameOf(key)
  if (field !== 'args') return nameOf(`${prefix}.${key || field}`)
  const flag = /^--?([\w.-]{1,64})$/.exec(args[Number(key) - 1] ?? '')?.[1]
  return nameOf(`${prefix}.${flag ?? `argument-${Number(key) + 1}`}`)
}

const nameOf = (text: string): string =>
  text
    .replace(/[^A-Za-z0-9_.-]+/g, '-')
    .replace(/^[^A-Za-z0-9_]+/, '')
    .slice(0, 120) || 'secret'
