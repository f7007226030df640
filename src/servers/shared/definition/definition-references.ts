import { pointer } from '../../../kernel/errors.ts'
import type { Carrier } from '../../../kernel/secrets/mask-secrets.ts'
import {
  isReference,
  type LookUp,
  parseReferences,
  type Reference,
  resolveReferences,
} from '../../../kernel/secrets/references.ts'

/** The names of the secrets that a definition refers to. */
export const secretNamesIn = (definition: Carrier): string[] => [
  ...new Set(
    referencesIn(definition).flatMap(({ reference }) => (reference.kind === 'secret' ? reference.name : [])),
  ),
]

/** A text of a definition that may contain references: an argument, a value of env or of a header, or the URL. */
export interface PlacedText {
  /** JSON pointer. */
  readonly path: string
  /** For messages: `env API_KEY`, `argument 3`, `header Authorization`, `url`. */
  readonly label: string
  readonly text: string
}

export interface PlacedReference extends Omit<PlacedText, 'text'> {
  readonly reference: Reference
}

type Change = (placed: PlacedText) => string

/** The definition with each text that may contain references replaced. The script of a shell may contain none. */
export function changeTexts<T extends Carrier>(definition: T, change: Change): T {
  const { command = '', args, env, headers, url } = definition
  const scripts = shellScripts(command, args ?? [])
  const changedArg = (text: string, index: number) =>
    scripts.has(index) ? text : change({ path: `/args/${index}`, label: `argument ${index + 1}`, text })
  return {
    ...definition,
    ...(args && { args: args.map(changedArg) }),
    ...(env && { env: changedMap('env', 'env', env, change) }),
    ...(headers && { headers: changedMap('headers', 'header', headers, change) }),
    ...(url !== undefined && { url: change({ path: '/url', label: 'url', text: url }) }),
  }
}

function changedMap(
  field: string,
  label: string,
  map: Readonly<Record<string, string>>,
  change: Change,
): Record<string, string> {
  const entries = Object.entries(map).map(([key, text]) => [
    key,
    change({ path: `/${field}/${pointer(key)}`, label: `${label} ${key.slice(0, 64)}`, text }),
  ])
  return Object.fromEntries(entries)
}

function textsOf(definition: Carrier): PlacedText[] {
  const texts: PlacedText[] = []
  changeTexts(definition, (placed) => {
    texts.push(placed)
    return placed.text
  })
  return texts
}

export const referencesIn = (definition: Carrier): PlacedReference[] =>
  textsOf(definition).flatMap(({ path, label, text }) =>
    parseReferences(text)
      .filter(isReference)
      .map((reference) => ({ path, label, reference })),
  )

/** Where a text has the beginning of a reference without a valid name or end. */
export const malformedIn = (definition: Carrier): PlacedText | undefined =>
  textsOf(definition).find(({ text }) =>
    parseReferences(text).some((part) => typeof part === 'object' && 'malformed' in part),
  )

/** The definition with the values of its references, or the first one that has none. */
export function resolveDefinition<T extends Carrier>(
  definition: T,
  lookUp: LookUp,
): { readonly definition: T } | { readonly missing: PlacedReference } {
  let missing: PlacedReference | undefined
  const resolved = changeTexts(definition, ({ path, label, text }) => {
    const result = resolveReferences(text, lookUp)
    if ('text' in result) return result.text
    missing ??= { path, label, reference: result.missing }
    return text
  })
  return missing ? { missing } : { definition: resolved }
}

const SHELL = /(?:^|[\\/])(?:ba|z|da|k|fi|a|pw|power)?sh(?:ell)?(?:\.exe)?$/i
const SCRIPT_FLAG = /^(?:-[a-z]*c|-command)$/i

/**
 * Which arguments are scripts of a shell: the text after its `-c`, wherever the shell is called from. Such a text has a
 * syntax of its own, in which `${…}` already has a meaning, and a value inserted there would be executed.
 */
export function shellScripts(command: string, args: readonly string[]): ReadonlySet<number> {
  const scripts = new Set<number>()
  let isShell = SHELL.test(command)
  for (const [index, arg] of args.entries()) {
    if (isShell && SCRIPT_FLAG.test(arg)) {
      scripts.add(index + 1)
      isShell = false
    } else isShell ||= SHELL.test(arg)
  }
  return scripts
}
