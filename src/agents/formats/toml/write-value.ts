import type { CannotEdit, Json } from '../format.ts'
import { isMap, type JsonMap } from './to-json.ts'

const BARE_NAME = /^[A-Za-z0-9_-]+$/
/** The reader stops at 100; what is wrapped around the value must fit too. */
const DEEPEST = 40

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

/** A whole number that JavaScript rounds is no integer for TOML, which would take every digit seriously. */
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

/** Throws what `refuse` makes of the reason, when TOML has no way to write the value. */
export function checkWritable(value: Json, refuse: (reason: string) => CannotEdit, depth = 0): void {
  if (depth > DEEPEST) throw refuse('The value is nested too deep')
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw refuse('A text in the value is no valid Unicode')
  } else if (Array.isArray(value)) {
    for (const item of value) checkWritable(item, refuse, depth + 1)
  } else if (isMap(value)) {
    for (const [name, inner] of Object.entries(value)) {
      if (!name.isWellFormed()) throw refuse('A name in the value is no valid Unicode')
      checkWritable(inner, refuse, depth + 1)
    }
  } else if (typeof value !== 'number' && typeof value !== 'boolean') {
    throw refuse('TOML cannot say null; leave the field out')
  }
}
