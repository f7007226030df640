import { expect } from 'vitest'
import { isSame, type Json, type Path } from '../../../src/agents/catalogue/json-value.ts'
import { CannotEdit } from '../../../src/agents/formats/format.ts'
import { tomlFormat } from '../../../src/agents/formats/toml/toml-format.ts'
import type { MadeFile } from './toml-generated.ts'

const { read, readAgain, find } = tomlFormat

export function valueFor(path: Path, entry: Json): Json {
  return path.length === 2 ? entry : 'text'
}

export function wantedAt(path: Path, entry: Json): Json {
  const step = path.at(-1)
  return typeof step === 'object' && 'item' in step ? step.item : withName(path, valueFor(path, entry))
}

export function withName(path: Path, entry: Json): Json {
  const step = path.at(-1)
  return typeof step === 'object' && 'field' in step ? { [step.field]: step.is, ...(entry as object) } : entry
}

/** The expected result of an edit, computed independently of the editor. */
export function put(json: Json | undefined, path: Path, entry: Json): Json {
  const top = structuredClone(json ?? {}) as Record<string, Json>
  let map = top
  path.forEach((step, index) => {
    const isLast = index === path.length - 1
    if (typeof step === 'object') return
    const next = path[index + 1]
    if (typeof next === 'object' && 'field' in next) {
      const list = [...((map[step] ?? []) as Record<string, Json>[])]
      const found = list.findIndex((item) => item[next.field] === next.is)
      const item =
        found === -1 || index + 2 === path.length ? (entry as Record<string, Json>) : (list[found] ?? {})
      list.splice(found === -1 ? list.length : found, found === -1 ? 0 : 1, item)
      map[step] = list
      map = item
    } else {
      map[step] = isLast ? entry : (map[step] ?? {})
      map = map[step] as Record<string, Json>
    }
  })
  return top
}

export function at(json: Json | undefined, path: Path): Json | undefined {
  return path.reduce<unknown>((inner, step) => {
    if (typeof step === 'string') return (inner as Record<string, unknown> | undefined)?.[step]
    const items = (inner ?? []) as unknown[]
    if ('item' in step) return items.find((item) => item === step.item)
    return items.find((item) => (item as Record<string, unknown>)[step.field] === step.is)
  }, json) as Json | undefined
}

export function expectRead(text: string, json: Json): void {
  expect(isSame(read(text), json)).toBe(true)
  expect(isSame(readAgain(text), json)).toBe(true)
}

/** The forms in which an entry has its own lines. */
export function isByLines({ form }: MadeFile): boolean {
  return form !== 'inline' && form !== 'array' && form !== 'dotted'
}

/** Lines of other entries that are missing in the text, or out of order. */
export function missingLines(made: MadeFile, text: string, owner: string | undefined): string[] {
  const present = text.replace('\ufeff', '').split(/(?<=\n)/)
  const others = made.lines
    .filter((line) => owner === undefined || line.owner !== owner)
    .flatMap((line) => line.text.split(/(?<=\n)/))
    .filter((line) => line.trim() !== '')
  let next = 0
  return others.filter((line) => {
    const found = present.findIndex(
      (one, index) => index >= next && sameLine(one, line, index === present.length - 1),
    )
    if (found !== -1) next = found + 1
    return found === -1
  })
}

/** The last line of a file may have no line end, before or after the edit. */
function sameLine(one: string, other: string, isLast: boolean): boolean {
  return one === other || ((isLast || !other.endsWith('\n')) && one.trimEnd() === other.trimEnd())
}

export function nonBlank(text: string): string[] {
  return text.split('\n').filter((line) => line.replace('\ufeff', '').trim() !== '')
}

export function isWithin(text: string, offset: number, path: Path): boolean {
  const place = find(text, path)
  return place !== undefined && text.slice(0, offset).split('\n').length > place.line
}

export function damaged(text: string, where: number, how: number, nasty: string): string {
  const offset = where % (text.length + 1)
  if (how === 0) return text.slice(0, offset)
  return text.slice(0, offset) + (how === 1 ? '' : nasty) + text.slice(offset + (how === 3 ? 0 : 1))
}

export function expectRefusalInside(text: string, work: () => unknown): void {
  try {
    work()
  } catch (error) {
    if (!(error instanceof CannotEdit)) throw error
    const line = text.split('\n')[error.position.line - 1]
    expect(error.position.column).toBeGreaterThanOrEqual(1)
    expect(error.position.column).toBeLessThanOrEqual((line ?? '').length + 1)
    expect(line).toBeDefined()
  }
}

export function orUndefined<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof CannotEdit) return undefined
    throw error
  }
}
