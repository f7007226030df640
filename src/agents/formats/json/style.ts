import type { Json, Step } from '../format.ts'
import { eolOf, lineIndent, lineStart } from '../text.ts'
import { isBlank } from './between-tokens.ts'
import type { Container, Member } from './tree.ts'

export interface Style {
  readonly eol: string
  /** One level of indentation. */
  readonly unit: string
  readonly colon: string
  /** Between two entries on one line. */
  readonly comma: string
  /** Inside the braces of an object on one line. */
  readonly pad: string
}

/** The style of the file near a value. `containers` are the maps and lists around it, the innermost first. */
export function styleOf(text: string, containers: readonly Container[]): Style {
  const model = containers.find(({ members }) => members.length > 0)
  const named = containers.find(({ kind, members }) => kind === 'map' && members.length > 0)?.members.at(-1)
  const colon = named === undefined || isSpace(text[named.node.start - 1]) ? ': ' : ':'
  return { eol: eolOf(text), unit: unitOf(text, containers), colon, ...spacingOf(text, model, colon) }
}

function spacingOf(text: string, model: Container | undefined, colon: string): Pick<Style, 'comma' | 'pad'> {
  const last = model?.members.at(-1)
  if (model === undefined || last === undefined) return { comma: ', ', pad: '' }
  const hasSpace = model.members.length > 1 ? isSpace(text[last.start - 1]) : colon === ': '
  const map = model.kind === 'map' ? model : last.node
  const isPadded = map.kind === 'map' && map.members.length > 0 && isSpace(text[map.start + 1])
  return { comma: hasSpace ? ', ' : ',', pad: isPadded ? ' ' : '' }
}

function isSpace(sign: string | undefined): boolean {
  return isBlank(sign) || sign === '\n'
}

function unitOf(text: string, containers: readonly Container[]): string {
  for (const container of containers) {
    const outer = lineIndent(text, container.start)
    const inner = indentIn(text, container)
    if (inner?.startsWith(outer) && inner !== outer) return inner.slice(outer.length)
  }
  return /\n([ \t]+)["{[]/.exec(text)?.[1] ?? '  '
}

/** The indentation of the last entry that begins a line; undefined if all entries are on one line. */
export function indentIn(text: string, { start, members }: Container): string | undefined {
  for (let index = members.length - 1; index >= 0; index -= 1) {
    const member = members[index]
    const from = members[index - 1]?.comma ?? start
    if (member !== undefined && beginsLine(text, member, from)) return lineIndent(text, member.start)
  }
  return undefined
}

/** `from` limits the search for the line break, so that a file on one line is not searched for each entry. */
function beginsLine(text: string, { start }: Member, from: number): boolean {
  const gap = text.slice(from + 1, start)
  return gap.includes('\n') && isAllBlank(gap.slice(gap.lastIndexOf('\n') + 1))
}

export function isAllBlank(gap: string): boolean {
  return /^[ \t\r]*$/.test(gap)
}

/** The part of the line before this offset. */
export function lineBefore(text: string, offset: number): string {
  return text.slice(lineStart(text, offset), offset)
}

/** An entry with its name, or a list item without one. Everything is on one line if `indent` is undefined. */
export function renderEntry(step: Step, value: Json, style: Style, indent: string | undefined): string {
  const name = typeof step === 'string' ? JSON.stringify(step) + style.colon : ''
  return name + render(value, style, indent)
}

export function render(value: Json, style: Style, indent: string | undefined): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const isList = Array.isArray(value)
  const inner = indent === undefined ? undefined : indent + style.unit
  const entries = Object.entries(value).map(([name, each]: [string, Json]) =>
    isList ? render(each, style, inner) : renderEntry(name, each, style, inner),
  )
  const [open, close] = isList ? '[]' : '{}'
  if (entries.length === 0) return `${open}${close}`
  if (inner === undefined) {
    const pad = isList ? '' : style.pad
    return open + pad + entries.join(style.comma) + pad + close
  }
  const line = style.eol + inner
  return open + line + entries.join(`,${line}`) + style.eol + indent + close
}
