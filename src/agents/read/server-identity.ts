import { AppError } from '../../kernel/errors.ts'
import { memo } from '../../kernel/memo.ts'
import { isPlainSetting, maskArgs, maskUrl } from '../../kernel/secrets/mask-secrets.ts'
import {
  escapeReferences,
  isOnlyReference,
  isReference,
  parseReferences,
  type Reference,
  writeReference,
} from '../../kernel/secrets/references.ts'
import { npxPackage } from '../../servers/shared/definition/npx-package.ts'
import { readGatewayEntry } from '../catalogue/gateway-entry.ts'
import type { Definition, RegisteredServer } from '../catalogue/server-definition.ts'

/** Two definitions with the same identity are the same server, whatever its name, environment or headers. */
function identityOf(definition: Definition): string {
  return JSON.stringify(wordsOf(definition))
}

const wordsOf = (definition: Definition): string[] =>
  definition.type === 'stdio' ? [definition.command, ...definition.args] : ['url', definition.url]

/** Where two definitions differ: `env API_KEY`, `argument 2`, `command`, `cwd`. Empty if they are equal. */
export function differences(one: Definition, other: Definition): string[] {
  if ((one.type === 'stdio') !== (other.type === 'stdio')) return ['type']
  const [before, after] = [textsOf(one), textsOf(other)]
  const labels = new Set([...before.keys(), ...after.keys()])
  return [...labels].filter((label) => before.get(label) !== after.get(label))
}

/** Every text of a definition, by the label that reports use: `env API_KEY`, `argument 2`. */
export function textsOf(definition: Definition): ReadonlyMap<string, string | null> {
  const labelled = (label: string, map: Readonly<Record<string, string>>) =>
    Object.entries(map).map(([key, value]) => [`${label} ${key}`, value] as const)
  if (definition.type !== 'stdio')
    return new Map([['url', definition.url], ...labelled('header', definition.headers)])
  const { command, args, env, cwd } = definition
  const words = args.map((arg, index) => [`argument ${index + 1}`, arg] as const)
  return new Map<string, string | null>([
    ['command', command],
    ...words,
    ...labelled('env', env),
    ['cwd', cwd],
  ])
}

/**
 * Where an entry differs from a registered server. `isExact`: its words may differ, too; otherwise other words are
 * another way to write the same server. What the server refers to is not compared, and neither is a folder that the
 * entry does not name.
 */
export function differsFrom(
  entry: Definition | null,
  server: RegisteredServer | undefined,
  isExact: boolean,
): string[] {
  if (!entry || !server || server.definition instanceof AppError || readGatewayEntry(entry)) return []
  const ours = server.definition
  if (!isExact && identityOf(ours) !== identityOf(entry)) return []
  const parts = textsOf(ours)
  const hasFolderOfOwn = entry.type === 'stdio' && entry.cwd !== null
  return differences(ours, entry).filter(
    (label) => !hasReference(parts.get(label) ?? '') && (label !== 'cwd' || hasFolderOfOwn),
  )
}

/** One value of two servers. Null if there is none, or if it is a secret. */
export interface ComparedValue {
  readonly label: string
  readonly own: string | null
  readonly other: string | null
  readonly secret: 'same' | 'different' | null
}

const LONGEST_SHOWN = 200

/** The values in which two servers differ, and their secrets without a value. */
export function comparedValues(one: Definition, other: Definition, secretOf: SecretOf): ComparedValue[] {
  const differ = new Set(differences(withSecrets(one, secretOf), withSecrets(other, secretOf)))
  const sides = [one, other].map((definition) => ({
    shown: shownTexts(definition),
    texts: textsOf(definition),
  }))
  const labels = new Set(sides.flatMap(({ texts }) => [...texts.keys()]))
  return [...labels].flatMap((label): ComparedValue[] => {
    const isSecret = sides.some(({ shown, texts }) => texts.get(label) != null && shown.get(label) == null)
    if (isSecret) {
      const secret = differ.has(label) ? 'different' : 'same'
      return [{ label, own: null, other: null, secret }]
    }
    const [own = null, others = null] = sides.map(({ shown }) => shown.get(label)?.slice(0, LONGEST_SHOWN))
    return differ.has(label) ? [{ label, own, other: others, secret: null }] : []
  })
}

/** By the label; null for a secret. */
function shownTexts(definition: Definition): ReadonlyMap<string, string | null> {
  const visible = (text: string, masked: string) => (masked === text && !hasSecret(text) ? text : null)
  if (definition.type !== 'stdio') {
    const { url, headers } = definition
    return new Map([
      ['url', visible(url, maskUrl(url))],
      ...Object.keys(headers).map((name) => [`header ${name}`, null] as const),
    ])
  }
  const { command, args, env, cwd } = definition
  const words = maskArgs([command, ...args])
  return new Map([
    ['command', visible(command, words[0] ?? '')],
    ...args.map((arg, at) => [`argument ${at + 1}`, visible(arg, words[at + 1] ?? '')] as const),
    ...Object.entries(env).map(([name, value]) => {
      const isPlain = isPlainSetting(name, value) || (isOnlyReference(value) && !hasSecret(value))
      return [`env ${name}`, isPlain ? value : null] as const
    }),
    ['cwd', cwd],
  ])
}

const hasSecret = (text: string): boolean =>
  parseReferences(text).some((part) => isReference(part) && part.kind === 'secret')

type Known = { readonly id: string; readonly definition: Definition }

/** The value of a named secret; undefined if there is none. */
export type SecretOf = (name: string) => string | undefined

/**
 * One text for all ways to write a definition. Two definitions with the same text start the same server with the same
 * values: only the order of variables, the case of headers and the `-y` of npx may differ.
 */
export const variantOf = (definition: Definition): string =>
  JSON.stringify([startOf(definition), surroundingsOf(definition)])

/** What is started or reached, without what it is given. */
function startOf(definition: Definition): string {
  if (definition.type !== 'stdio') return JSON.stringify([definition.type, definition.url])
  const { command, args } = definition
  const words = /^npx(?:\.cmd)?$/.test(command) && /^(?:-y|--yes)$/.test(args[0] ?? '') ? args.slice(1) : args
  return JSON.stringify([command, words])
}

/** What a server is given beside its words. */
function surroundingsOf(definition: Definition): string {
  const sorted = (map: Readonly<Record<string, string>>, key = (name: string) => name) =>
    Object.entries(map)
      .map(([name, value]) => [key(name), value] as const)
      .sort(([one], [other]) => (one < other ? -1 : 1))
  return definition.type === 'stdio'
    ? JSON.stringify([sorted(definition.env), definition.cwd])
    : JSON.stringify(sorted(definition.headers, (name) => name.toLowerCase()))
}

/**
 * The registered server that has every value of a definition. A named secret is compared by its value, so that servers
 * whose secrets were moved are found, and those with another secret are not.
 */
export function registeredVariant(
  definition: Definition | null,
  registered: readonly RegisteredServer[],
  secretOf: SecretOf,
): Known | undefined {
  if (!definition) return undefined
  const { byStart, byPackage, withReferences } = indexOf(registered)
  const npx = npxPackage(definition)
  const fromPackage = (npx && byPackage.get(JSON.stringify([npx.name, ...npx.args]))) ?? []
  const plain = withSecrets(definition, secretOf)
  const [variant, surroundings] = [variantOf(plain), surroundingsOf(plain)]
  return (
    [...(byStart.get(startOf(plain)) ?? []), ...withReferences].find(
      (known) => variantOf(withSecrets(known.definition, secretOf)) === variant,
    ) ?? fromPackage.find((known) => surroundingsOf(withSecrets(known.definition, secretOf)) === surroundings)
  )
}

/** Whether a definition refers to something that is not set, so that its server cannot start. */
export const lacksValue = (definition: Definition, isSet: (reference: Reference) => boolean): boolean =>
  [...textsOf(definition).values()].some((text) =>
    parseReferences(text ?? '').some((part) => isReference(part) && part.fallback === null && !isSet(part)),
  )

/** The definition with the values of named secrets. Variables stay references, because agents refer to them, too. */
function withSecrets(definition: Definition, secretOf: SecretOf): Definition {
  const text = (written: string): string =>
    parseReferences(written)
      .map((part) => {
        if (typeof part === 'string') return escapeReferences(part)
        if (!isReference(part)) return part.malformed
        const value = part.kind === 'secret' ? secretOf(part.name) : undefined
        return value === undefined ? writeReference(part) : escapeReferences(value)
      })
      .join('')
  const values = (map: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(map).map(([name, value]) => [name, text(value)]))
  if (definition.type !== 'stdio')
    return { ...definition, url: text(definition.url), headers: values(definition.headers) }
  const { command, args, env } = definition
  return { ...definition, command: text(command), args: args.map(text), env: values(env) }
}

/** The registered server of an entry: the one that has all its values, or else one that starts the same. */
export const linkedServer = (
  definition: Definition | null,
  registered: readonly RegisteredServer[],
  secretOf: SecretOf,
): Known | undefined =>
  registeredVariant(definition, registered, secretOf) ?? registeredAs(definition, registered)

/** The registered server that an entry defines. With a folder: the one that works there. */
export function registeredAs(
  definition: Definition | null,
  registered: readonly RegisteredServer[],
  folder?: string,
): Known | undefined {
  if (!definition) return undefined
  const { all, byIdentity, byPackage, withReferences } = indexOf(registered)
  const npx = npxPackage(definition)
  const found = [
    ...(byIdentity.get(identityOf(definition)) ?? []),
    ...((npx && byPackage.get(JSON.stringify([npx.name, ...npx.args]))) ?? []),
    ...withReferences.filter((known) => fits(known.definition, definition, fitsText)),
    ...(wordsOf(definition).some(hasFolder) ? all : []).filter((known) =>
      fits(known.definition, definition, fitsFolder),
    ),
  ]
  const there = found.filter((known) => folder === undefined || folderOf(known.definition) === folder)
  // Of several variants, the one with these values.
  return there.length < 2 ? there[0] : (there.find((known) => hasValuesOf(known, definition)) ?? there[0])
}

/** What a server refers to is not compared. */
const hasValuesOf = ({ definition: ours }: Known, entry: Definition): boolean => {
  const parts = textsOf(ours)
  return differences(ours, entry).every((label) => hasReference(parts.get(label) ?? ''))
}

const folderOf = (definition: Definition): string | null =>
  definition.type === 'stdio' ? definition.cwd : null

/** The same list is searched for every entry of a file. */
const indexOf = memo((registered: readonly RegisteredServer[]) => {
  const byIdentity = new Map<string, Known[]>()
  const byPackage = new Map<string, Known[]>()
  const byStart = new Map<string, Known[]>()
  const [all, withReferences]: [Known[], Known[]] = [[], []]
  const add = (map: Map<string, Known[]>, key: string, known: Known) =>
    map.set(key, [...(map.get(key) ?? []), known])
  for (const { id, definition, package: from } of registered) {
    if (definition instanceof AppError) continue
    all.push({ id, definition })
    add(byIdentity, identityOf(definition), { id, definition })
    add(byStart, startOf(withSecrets(definition, () => undefined)), { id, definition })
    if (from) add(byPackage, JSON.stringify([from.name, ...from.args]), { id, definition })
    if (wordsOf(definition).some(hasReference)) withReferences.push({ id, definition })
  }
  return { all, byIdentity, byPackage, byStart, withReferences }
})

const hasReference = (text: string): boolean => parseReferences(text).some(isReference)

/** Whether an entry has the words of a registered server. */
function fits(
  registered: Definition,
  entry: Definition,
  fitsWord: (word: string, written: string) => boolean,
): boolean {
  if ((registered.type === 'stdio') !== (entry.type === 'stdio')) return false
  const [words, written] = [wordsOf(registered), wordsOf(entry)]
  return words.length === written.length && words.every((word, index) => fitsWord(word, written[index] ?? ''))
}

/** Folders that only the agent knows by these names. An import writes the folder itself. */
const FOLDER = /\$\{(?:userHome|workspaceFolder)\}/
const hasFolder = (text: string): boolean => FOLDER.test(text)

/** With any text in place of a folder. */
function fitsFolder(word: string, written: string): boolean {
  const [first = '', ...others] = written.split(FOLDER)
  const last = others.pop()
  if (last === undefined) return word === written
  if (!word.startsWith(first)) return false
  let at = first.length
  for (const literal of others) {
    const found = word.indexOf(literal, at)
    if (found < 0) return false
    at = found + literal.length
  }
  return word.length - last.length >= at && word.endsWith(last)
}

/** A reference as agents write it. */
const FOREIGN = /\$\{[^{}]*\}|\{env:[^{}]*\}|\$\w+|%\w+%/y

/**
 * With any text in place of a secret, which may have been moved out of it, and with a reference of the agent in place of
 * a variable. In one pass: a secret ends where the text after it begins for the first time.
 */
function fitsText(pattern: string, text: string): boolean {
  if (pattern === text) return true
  let at = 0
  let isOpen = false // after a secret
  for (const part of parseReferences(pattern)) {
    if (isReference(part) && part.kind === 'secret') isOpen = true
    else if (isReference(part)) {
      FOREIGN.lastIndex = at
      if (isOpen || !FOREIGN.test(text)) return false
      at = FOREIGN.lastIndex
    } else {
      const literal = typeof part === 'string' ? part : part.malformed
      const found = isOpen ? text.indexOf(literal, at + 1) : at
      if (found < 0 || !text.startsWith(literal, found)) return false
      at = found + literal.length
      isOpen = false
    }
  }
  return isOpen ? at < text.length : at === text.length
}
