import { isMap, type Json, type JsonMap, type Path, stepName } from '../../catalogue/json-value.ts'
import type { CannotEdit } from '../format.ts'

/** `name = value`, with the `=` of its neighbours. */
export function pairText(names: readonly string[], value: Json, equals: string): string {
  return `${namesText(names)}${equals}${valueText(value)}`
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

/** TOML has the escapes of JSON, and wants one for DEL, too. */
function stringText(value: string): string {
  return JSON.stringify(value).replaceAll('\x7f', '\\u007f')
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
