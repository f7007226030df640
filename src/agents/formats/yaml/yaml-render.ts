import type { Json } from '../../catalogue/json-value.ts'

/** The indentation of the file. */
export interface Style {
  /** Of a map in a map. */
  readonly unit: number
  /** Of a list in a map; 0 if the dashes are directly below the name. */
  readonly list: number
}

/** `name: value`, on several lines if the value is a map or list with content. */
export function pairLines(name: string, value: Json, style: Style): string[] {
  const key = keyText(name)
  if (isInline(value)) return [`${key}: ${scalarText(value)}`]
  const by = Array.isArray(value) ? style.list : style.unit
  return [`${key}:`, ...indented(valueLines(value, style), by)]
}

/** `- value`, with further lines aligned below the first. */
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

/** In brackets on one line. With `quoted` every string is in double quotes, for a file that is valid JSON too. */
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

/** The value is written on the line of its name. */
export function isInline(value: Json): boolean {
  return value === null || typeof value !== 'object' || Object.keys(value).length === 0
}

export function scalarText(value: Json): string {
  if (typeof value === 'string') return stringText(value)
  if (typeof value === 'number') return numberText(value)
  return Array.isArray(value) ? '[]' : value !== null && typeof value === 'object' ? '{}' : String(value)
}

/** YAML 1.1 requires a dot before an exponent. */
function numberText(value: number): string {
  return String(value).replace(/^(-?\d+)e/, '$1.0e')
}

function keyText(name: string): string {
  return name.includes(':') ? quote(name) : stringText(name)
}

const PLAIN = /^(?:[A-Za-z_/]|\.\.?\/)[\w./@+=~:()-]*(?: [\w./@+=~:()-]+)*$/
/** Words that some parsers read as a boolean, a null or a number. */
const WORDS = /^(?:y|n|yes|no|on|off|true|false|null|nan|inf|infinity)$/i

function stringText(text: string): string {
  const isPlain = PLAIN.test(text) && !WORDS.test(text) && !/:(?: |$)/.test(text)
  return isPlain ? text : quote(text)
}

/** JSON's escapes are valid in YAML. Characters that YAML 1.1 treats as line ends or as unprintable are escaped too. */
function quote(text: string): string {
  const odd = /[\u007f-\u00a0\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\uffff]/g
  return JSON.stringify(text).replace(odd, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
