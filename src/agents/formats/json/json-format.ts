import type { Dialect } from '../../catalogue/catalogue.schema.ts'
import { CannotEdit, type Edited, type Format, type Json, type Path } from '../format.ts'
import { addEntry, replaceValue } from './add.ts'
import { placeOf, TOP } from './errors.ts'
import { memberAt, walk, wrapped } from './path.ts'
import { readPlain } from './second-parser.ts'
import { removeEntry, traceOf } from './trace.ts'
import { jsonOf, parseTree } from './tree.ts'

const BOM = '\ufeff'

export function jsonFormat(dialect: Dialect): Format {
  return {
    read(text) {
      const root = parseTree(bodyOf(text, dialect), dialect)
      return root === undefined ? undefined : jsonOf(root)
    },
    readAgain: (text) => readPlain(bodyOf(text, dialect), dialect),
    find(text, path) {
      const body = bodyOf(text, dialect)
      const root = parseTree(body, dialect)
      const levels = walk(body, root, path)
      const start = path.length === 0 ? root?.start : memberAt(levels, path)?.start
      return start === undefined ? undefined : placeOf(body, start)
    },
    set(text, path, value) {
      const body = bodyOf(text, dialect)
      const { text: edited, trace } = setIn(body, path, value, dialect)
      return { text: text.slice(0, text.length - body.length) + edited, trace }
    },
    remove(text, path, trace) {
      const body = bodyOf(text, dialect)
      refuseTop(path)
      const levels = walk(body, parseTree(body, dialect), path)
      if (memberAt(levels, path) === undefined) return text
      return text.slice(0, text.length - body.length) + removeEntry(body, levels, path, trace)
    },
  }
}

function bodyOf(text: string, dialect: Dialect): string {
  if (!text.startsWith(BOM)) return text
  if (dialect.bom) return text.slice(BOM.length)
  const what = 'The agent that owns this file cannot read it with a byte order mark (BOM)'
  throw new CannotEdit(`${what}; save it without one`, TOP)
}

function refuseTop(path: Path): void {
  if (path.length === 0) throw new CannotEdit('The whole of a file is not replaced or removed', TOP)
}

function setIn(text: string, path: Path, value: Json, dialect: Dialect): Edited {
  refuseTop(path)
  const levels = walk(text, parseTree(text, dialect), path)
  const around = levels.map(({ container }) => container).reverse()
  const member = memberAt(levels, path)
  if (member !== undefined) {
    const item = wrapped(path, path.length - 1, value)
    const isSame = isSameJson(jsonOf(member.node), item)
    return { text: isSame ? text : replaceValue(text, around, member, item), trace: undefined }
  }
  const depth = levels.length - 1
  const step = path[Math.max(depth, 0)]
  if (step === undefined || (depth === -1 && typeof step !== 'string')) {
    throw new CannotEdit('The top of this file must be an object { }', TOP)
  }
  const added = addEntry(text, around, step, wrapped(path, Math.max(depth, 0), value))
  return { text: added.text, trace: traceOf({ path: path.slice(0, -1), depth, blank: added.blank }) }
}

function isSameJson(one: Json, other: Json): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const [mine, theirs] = [new Map(Object.entries(one)), new Map(Object.entries(other))]
  return mine.size === theirs.size && [...mine].every(([name, value]) => isSameIn(theirs, name, value))
}

function isSameIn(map: ReadonlyMap<string, Json>, name: string, value: Json): boolean {
  const other = map.get(name)
  return other !== undefined && isSameJson(value, other)
}
