import { parse, TomlDate, TomlError } from 'smol-toml'
import { CannotEdit, type Json } from '../format.ts'
import type { TomlDoc } from './model.ts'
import { cannot } from './scan/cursor.ts'
import { scanToml } from './scan/scan.ts'
import { isMap, sameJson, setMember, tableJson, tableSays } from './to-json.ts'

interface Opened extends TomlDoc {
  readonly json: Json
}

/** Reads the text with both parsers and refuses it when they do not say the same. */
export function openToml(text: string): Opened {
  const doc = scanToml(text)
  const json = tableJson(doc.root)
  if (!sameAsParsed(json, parseWithSmol(text))) {
    throw cannot(text, 0, 'Two TOML readers understand this file differently; write it in a simpler way')
  }
  return { ...doc, json }
}

/** The edited text, when both parsers read in it what was intended. */
export function openIfItSays(text: string, intended: Json): TomlDoc | undefined {
  try {
    const doc = scanToml(text)
    return tableSays(doc.root, intended) && sameAsParsed(intended, parseWithSmol(text)) ? doc : undefined
  } catch (error) {
    if (error instanceof CannotEdit) return undefined // the edit made it unreadable
    throw error
  }
}

/** Nothing at all, not even an empty table, is undefined. */
export function saysSomething(json: Json): Json | undefined {
  return isMap(json) && Object.keys(json).length === 0 ? undefined : json
}

/** The other parser. It shares no code with ours. */
export function readWithSmol(text: string): Json {
  return plainJson(parseWithSmol(text))
}

function parseWithSmol(text: string): unknown {
  try {
    return parse(text, { integersAsBigInt: 'asNeeded' })
  } catch (error) {
    throw translated(error)
  }
}

/** The message of the parser quotes lines of the file, which may hold secrets: it stays inside. */
function translated(error: unknown): CannotEdit {
  const place = error instanceof TomlError ? error : { line: 1, column: 1 }
  return new CannotEdit('The file is not valid TOML at this place', {
    line: place.line,
    column: place.column,
  })
}

/** As `sameJson(json, plainJson(parsed))`, without a copy of a large file. */
function sameAsParsed(json: Json | undefined, parsed: unknown): boolean {
  if (Array.isArray(parsed)) {
    if (!Array.isArray(json) || json.length !== parsed.length) return false
    return parsed.every((item, index) => sameAsParsed(json[index], item))
  }
  if (typeof parsed !== 'object' || parsed === null || parsed instanceof Date) {
    return sameJson(json, plainJson(parsed))
  }
  if (!isMap(json)) return false
  const names = Object.keys(parsed)
  if (names.length !== Object.keys(json).length) return false
  return names.every(
    (name) =>
      Object.hasOwn(json, name) && sameAsParsed(json[name], (parsed as Record<string, unknown>)[name]),
  )
}

function plainJson(value: unknown): Json {
  if (value instanceof TomlDate) return value.toISOString()
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(plainJson)
  if (typeof value === 'object' && value !== null) {
    const map = {}
    for (const [name, inner] of Object.entries(value)) setMember(map, name, plainJson(inner))
    return map
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null
}
