import { parse, TomlDate, TomlError } from 'smol-toml'
import { CannotEdit, type Json } from '../format.ts'

/** Reads with smol-toml, which shares no code with our scanner. */
export function readWithSmolToml(text: string): Json {
  try {
    return jsonOf(parse(text, { integersAsBigInt: 'asNeeded' }))
  } catch (error) {
    // The parser's own message quotes the file, which contains secrets.
    const { line, column } = error instanceof TomlError ? error : { line: 1, column: 1 }
    throw new CannotEdit('Invalid TOML', { line, column })
  }
}

/** Dates become strings. Works in place, because a copy of a large file is slow. */
function jsonOf(value: unknown): Json {
  if (value instanceof TomlDate) return value.toISOString()
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null) return value as Json
  const map = value as Record<string, unknown>
  for (const name of Object.keys(map)) {
    const json = jsonOf(map[name])
    if (json !== map[name]) map[name] = json
  }
  return map as Json
}
