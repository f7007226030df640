import { readForeign } from '../../kernel/files/foreign-file.ts'
import { isObject } from '../../kernel/json/json-checks.ts'

/** An object of foreign JSON. No member can be relied on. */
export type Raw = Readonly<Record<string, unknown>>

export const objectOf = (value: unknown): Raw => (isObject(value) ? value : {})

/** A lock file of a package with thousands of dependencies has a few megabytes. */
const MAX_JSON_BYTES = 32 * 1024 * 1024

/** `{}` when the file is missing, larger than 32 MiB, or does not contain an object. */
export function readJson(path: string): Raw {
  try {
    return objectOf(JSON.parse(readForeign(path, MAX_JSON_BYTES).bytes.toString('utf8')))
  } catch {
    return {}
  }
}

/** A member by a key from outside: `constructor` is not one. */
export const own = (raw: Raw, key: string): unknown => (Object.hasOwn(raw, key) ? raw[key] : undefined)

/** A string that is not blank, shortened to `max` characters. */
export const textOf = (value: unknown, max = 2000): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.slice(0, max) : null

export function textsOf(value: unknown): string[] {
  const list = typeof value === 'string' ? value.split(/[\s,]+/) : Array.isArray(value) ? value : []
  return list.slice(0, 100).flatMap((one) => textOf(one, 200) ?? [])
}

export function timeOf(value: unknown): number | null {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms) ? null : ms
}

/** The objects of a list, at most `max`. */
export const objectsIn = (value: unknown, max: number): Raw[] =>
  Array.isArray(value) ? value.slice(0, max).filter(isObject) : []
