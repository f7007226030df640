import { createHash } from 'node:crypto'
import type { Json, Path, Step } from './format.ts'

/** Looking into, and changing, what a file says: plain values, no text. */

type Map_ = { readonly [name: string]: Json }

export const isMap = (value: Json | undefined): value is Map_ =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value)

export function valueAt(root: Json | undefined, path: Path): Json | undefined {
  return path.reduce<Json | undefined>(inside, root)
}

function inside(value: Json | undefined, step: Step): Json | undefined {
  if (typeof step === 'string') return isMap(value) && Object.hasOwn(value, step) ? value[step] : undefined
  return isList(value) ? value.find((item) => isItem(item, step)) : undefined
}

function isItem(item: Json, step: Exclude<Step, string>): boolean {
  return 'item' in step ? item === step.item : isMap(item) && item[step.field] === step.is
}

/** The whole with one value set, or (undefined) taken out. What is on the way is made; nothing is changed in place. */
export function withValue(root: Json | undefined, path: Path, value: Json | undefined): Json | undefined {
  const [step, ...rest] = path
  if (step === undefined) return value
  const before = inside(root, step)
  if (value === undefined && before === undefined) return root
  const after = withValue(before, rest, value)
  return typeof step === 'string' ? withMember(root, step, after) : withItem(root, step, after)
}

function withMember(map: Json | undefined, name: string, value: Json | undefined): Json {
  const members = Object.entries(isMap(map) ? map : {})
  const at = members.findIndex(([each]) => each === name)
  if (value === undefined) members.splice(at, at === -1 ? 0 : 1)
  else members.splice(at === -1 ? members.length : at, at === -1 ? 0 : 1, [name, value])
  return Object.fromEntries(members)
}

function withItem(list: Json | undefined, step: Exclude<Step, string>, value: Json | undefined): Json {
  const items = [...(isList(list) ? list : [])]
  const at = items.findIndex((item) => isItem(item, step))
  if (value === undefined) items.splice(at, at === -1 ? 0 : 1)
  else items.splice(at === -1 ? items.length : at, at === -1 ? 0 : 1, value)
  return items
}

/** Without the maps and lists on this way that hold nothing: whether they are there makes no difference to anybody. */
export function withoutEmpty(root: Json | undefined, path: Path): Json | undefined {
  for (let length = path.length; length >= 0; length -= 1) {
    const way = path.slice(0, length)
    const value = valueAt(root, way)
    if (value === undefined) continue
    if (value === null || isEmpty(value)) root = withValue(root, way, undefined)
    else break
  }
  return root
}

const isEmpty = (value: Json): boolean =>
  isList(value) ? value.length === 0 : isMap(value) && Object.keys(value).length === 0

/** The order of members counts as well: it must not change either. */
export const isSame = (a: Json | undefined, b: Json | undefined): boolean =>
  JSON.stringify(a) === JSON.stringify(b)

/** Of what an entry says, however it is written. */
export function hashOf(value: Json): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest('hex')
}

function sorted(value: Json): Json {
  if (isList(value)) return value.map(sorted)
  if (!isMap(value)) return value
  const members = Object.entries(value).map(([name, member]) => [name, sorted(member)] as const)
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)))
}
