import type { Json } from '../format.ts'

/** How the file indents. */
export interface Style {
  /** A map in a map. */
  readonly unit: number
  /** A list in a map: 0 when its dashes stand below the name. */
  readonly list: number
}

/** `name: value`, with more lines when the value is a map or a list that holds something. */
export function pairLines(name: string, value: Json, style: Style): string[] {
  const key = keyText(name)
  if (isInline(value)) return [`${key}: ${scalarText(value)}`]
  const by = Array.isArray(value) ? style.list : style.unit
  return [`${key}:`, ...indented(valueLines(value, style), by)]
}

/** `- value`, and its other lines below its first. */
export function itemLines(value: Json, style: Style, gap = 1): string[] {
  const [first, ...rest] = valueLines(value, style)
  return [`-${' '.repeat(gap)}${first}`, ...indented(rest, gap + 1)]
}

export function valueLines(value: Json, style: Style): string[] {
  if (isInline(value)) return [scalarText(value)]
  if (Array.isArray(value)) return value.flatMap((item: Json) => itemLines(item, style))
  return Object.entries(value as object).flatMap(([name, inner]) => pairLines(name, inner, style))
}

export function indented(lines: readonly string[], by: number): string[] {
  return lines.map((line) => ' '.repeat(by) + line)
}

/** In braces and on one line. With quotes around every text where the file looks like JSON. */
export function flowText(value: Json, quoted: boolean): string {
  if (Array.isArray(value)) return `[${value.map((item: Json) => flowText(item, quoted)).join(', ')}]`
  if (value !== null && typeof value === 'object') {
    const pairs = Object.entries(value).map(([name, inner]) => flowPair(name, inner, quoted))
    return `{${pairs.join(', ')}}`
  }
  if (typeof value !== 'string') return scalarText(value)
  return quoted || value.includes(':') ? quote(value) : stringText(value)
}

export function flowPair(name: string, value: Json, quoted: boolean): string {
  return `${quoted ? quote(name) : keyText(name)}: ${flowText(value, quoted)}`
}

/** It stands behind its name, on the same line. */
export function isInline(value: Json): boolean {
  return value === null || typeof value !== 'object' || Object.keys(value).length === 0
}

export function scalarText(value: Json): string {
  if (typeof value === 'string') return stringText(value)
  if (typeof value === 'number') return numberText(value)
  return Array.isArray(value) ? '[]' : value !== null && typeof value === 'object' ? '{}' : String(value)
}

/** Readers of YAML 1.1 want a dot before an exponent. */
function numberText(value: number): string {
  return String(value).replace(/^(-?\d+)e/, '$1.0e')
}

function keyText(name: string): string {
  return name.includes(':') ? quote(name) : stringText(name)
}

const PLAIN = /^(?:[A-Za-z_/]|\.\.?\/)[\w./@+=~:()-]*(?: [\w./@+=~:()-]+)*$/
/** What some reader takes for a truth value, a null or a number. */
const WORDS = /^(?:y|n|yes|no|on|off|true|false|null|nan|inf|infinity)$/i

function stringText(text: string): string {
  const isPlain = PLAIN.test(text) && !WORDS.test(text) && !/:(?: |$)/.test(text)
  return isPlain ? text : quote(text)
}

/** JSON's escapes are YAML's too; what YAML 1.1 may take for a line end or cannot print is escaped as well. */
function quote(text: string): string {
  const odd = /[\u007f-\u00a0\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\uffff]/g
  return JSON.stringify(text).replace(odd, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
