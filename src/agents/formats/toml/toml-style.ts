import { isMap, type Json, type JsonMap, type Path, stepName } from '../../catalogue/json-value.ts'
import type { CannotEdit } from '../format.ts'
import { lineIndent } from '../text-edits.ts'
import type { Block, Pair, TomlDoc } from './toml-model.ts'

/** `name = value` in the style of its neighbours. */
export function pairText(names: readonly string[], value: Json, equals: string): string {
  return `${namesText(names)}${equals}${valueText(value)}`
}

export function equalsOf(doc: TomlDoc, near: Block | undefined): string {
  const pair = near?.pairs.at(-1) ?? doc.blocks.findLast(({ pairs }) => pairs.length > 0)?.pairs.at(-1)
  return pair !== undefined && doc.text.slice(pair.nameEnd, pair.value.start) === '=' ? '=' : ' = '
}

export function headerIndent({ text }: TomlDoc, block: Block | undefined): string {
  return block?.header === undefined ? '' : lineIndent(text, block.header.start)
}

/** The indentation of the pairs of this block; taken from another block if it has none. */
export function pairIndent(doc: TomlDoc, block: Block | undefined): string {
  const last = block?.pairs.at(-1)
  if (last !== undefined) return indentOf(doc, last)
  const base = headerIndent(doc, block)
  if (block !== undefined && block.header === undefined) return base
  const other = doc.blocks.find(({ header, pairs }) => header !== undefined && pairs.length > 0)
  const pair = other?.pairs[0]
  if (other === undefined || pair === undefined) return base
  const otherBase = headerIndent(doc, other)
  const indent = indentOf(doc, pair)
  return indent.startsWith(otherBase) ? base + indent.slice(otherBase.length) : base
}

function indentOf({ text }: TomlDoc, pair: Pair): string {
  return lineIndent(text, pair.start)
}

/** One level of indentation in this file, for the lines of a list. */
export function indentUnit({ text }: TomlDoc): string {
  return /^([ \t]+)\S/m.exec(text)?.[1]?.replace(/^\t.*$/, '\t') ?? '  '
}

const BARE_NAME = /^[A-Za-z0-9_-]+$/
/** The scanner allows 100 levels, which must also hold what is around the value. */
const MAX_DEPTH = 40

function nameText(name: string): string {
  return BARE_NAME.test(name) ? name : stringText(name)
}

export function namesText(names: readonly string[]): string {
  return names.map(nameText).join('.')
}

/** The value on one line. */
export function valueText(value: Json): string {
  if (typeof value === 'string') return stringText(value)
  if (typeof value === 'number') return numberText(value)
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`
  return isMap(value) ? mapText(value) : String(value)
}

function mapText(map: JsonMap): string {
  const pairs = Object.entries(map).map(([name, value]) => `${nameText(name)} = ${valueText(value)}`)
  return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`
}

/** A whole number beyond the safe range is written as a float: TOML treats every digit of an integer as exact. */
function numberText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  if (Object.is(value, -0)) return '-0.0'
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : String(value)
}

const SHORT: Readonly<Record<string, string>> = {
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
  '"': '\\"',
  '\\': '\\\\',
}

function stringText(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must be escaped
  const escaped = value.replace(/[\x00-\x1f"\\\x7f]/g, (character) => SHORT[character] ?? codeText(character))
  return `"${escaped}"`
}

function codeText(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Throws if TOML cannot express the path or the value. */
export function assertWritable(path: Path, value: Json, refuse: (reason: string) => CannotEdit): void {
  if (!path.every((step) => stepName(step).isWellFormed())) throw refuse('The name is not valid Unicode')
  assertValue(value, refuse, 0)
}

function assertValue(value: Json, refuse: (reason: string) => CannotEdit, depth: number): void {
  if (depth > MAX_DEPTH) throw refuse('The value is nested too deeply')
  if (value === null) throw refuse('TOML has no null. Leave the field out')
  if (typeof value === 'string' && !value.isWellFormed()) throw refuse('A string is not valid Unicode')
  if (typeof value !== 'object') return
  for (const [name, inner] of Object.entries(value)) {
    if (!name.isWellFormed()) throw refuse('A name is not valid Unicode')
    assertValue(inner, refuse, depth + 1)
  }
}
