import { readFileSync } from 'node:fs'

/** Somebody else's JSON, of which nothing is known. */
export type Raw = Readonly<Record<string, unknown>>

export const objectOf = (value: unknown): Raw =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Raw) : {}

/** Empty when there is none, or when it is no object. */
export function readJson(path: string): Raw {
  try {
    return objectOf(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    return {}
  }
}
