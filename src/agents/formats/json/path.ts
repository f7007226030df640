import { CannotEdit, type ItemWith, type Json, type Path, type Step } from '../format.ts'
import { cannotEdit, MAX_DEPTH, TOP } from './errors.ts'
import type { Container, Member, Node } from './tree.ts'

/** One step of the way: the map or list that it is taken in, and which of its members it leads to. */
export interface Level {
  readonly container: Container
  /** -1 when there is none: the way ends here. */
  readonly index: number
}

const NEVER: readonly string[] = ['__proto__', 'constructor', 'prototype']

/** As far as the way goes: fewer levels than steps when something on the way is missing, none when the text is empty. */
export function walk(text: string, root: Node | undefined, path: Path): Level[] {
  for (const step of path) refuseName(step)
  const levels: Level[] = []
  let node = root
  for (const [depth, step] of path.entries()) {
    if (node === undefined) break
    const container = containerFor(text, node, step, path[depth - 1])
    const index = indexOfStep(text, container, step)
    levels.push({ container, index })
    node = container.members[index]?.node
  }
  return levels
}

/** The member that the whole path leads to. */
export function memberAt(levels: readonly Level[], path: Path): Member | undefined {
  const last = levels[path.length - 1]
  return last?.container.members[last.index]
}

function refuseName(step: Step): void {
  const name = typeof step === 'string' ? step : 'field' in step ? step.field : ''
  if (!NEVER.includes(name)) return
  throw new CannotEdit(`'${name}' cannot be used as a name in this file; choose another one`, TOP)
}

function containerFor(text: string, node: Node, step: Step, cameBy: Step | undefined): Container {
  const kind = typeof step === 'string' ? 'map' : 'list'
  if (node.kind === kind) return node
  const what = cameBy === undefined ? 'The top of this file' : `'${wordFor(cameBy)}'`
  const needed = kind === 'map' ? 'an object { }' : 'a list [ ]'
  throw cannotEdit(text, node.start, (line) => `${what} must be ${needed}, but line ${line} says otherwise`)
}

function wordFor(step: Step): string {
  if (typeof step === 'string') return step
  return 'field' in step ? step.is : step.item
}

function indexOfStep(text: string, { members }: Container, step: Step): number {
  let found = -1
  for (const [index, member] of members.entries()) {
    if (!isMeant(text, member, step)) continue
    if (found !== -1) throw standsTwice(text, member, wordFor(step))
    found = index
  }
  return found
}

function isMeant(text: string, { name, node }: Member, step: Step): boolean {
  if (typeof step === 'string') return name === step
  if ('item' in step) return node.kind === 'scalar' && node.value === step.item
  return node.kind === 'map' && says(text, node, step)
}

function says(text: string, { members }: Container, { field, is }: ItemWith): boolean {
  const [first, second, ...others] = members.filter(({ name }) => name === field)
  if (first === undefined) return false
  const isSaid = [first, second, ...others].some(
    (one) => one?.node.kind === 'scalar' && one.node.value === is,
  )
  if (isSaid && second !== undefined) throw standsTwice(text, second, field)
  return isSaid
}

function standsTwice(text: string, { start }: Member, word: string): CannotEdit {
  return cannotEdit(
    text,
    start,
    (line) => `'${word}' stands there twice, the second time in line ${line}; remove one of the two first`,
  )
}

/** The value for the step at `from`, in all the maps and lists that the steps behind it need. */
export function wrapped(path: Path, from: number, value: Json): Json {
  let made = value
  for (let at = path.length - 1; at >= from; at -= 1) {
    const [step, next] = [path[at] ?? '', path[at + 1]]
    if (next !== undefined) made = typeof next === 'string' ? { [next]: made } : [made]
    made = asItem(step, made, next !== undefined)
  }
  refuseDepth(made, from + 1)
  return made
}

/** An item must say itself what it is found by, or it would never be found again. */
function asItem(step: Step, value: Json, isOnTheWay: boolean): Json {
  if (typeof step === 'string') return value
  const [field, is] = 'field' in step ? [step.field, step.is] : [undefined, step.item]
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
  const item: Json = isOnTheWay && isMap && field !== undefined ? { [field]: is, ...value } : value
  const said = field === undefined ? item : isMap ? (item as { [name: string]: Json })[field] : undefined
  if (said === is) return item
  throw new CannotEdit(`The item '${is}' cannot be put into the list: it does not say so itself`, TOP)
}

function refuseDepth(value: Json, depth: number): void {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new CannotEdit('A number that is not finite cannot be written into this file', TOP)
  }
  if (typeof value !== 'object' || value === null) return
  if (depth >= MAX_DEPTH) {
    throw new CannotEdit(`This would be nested deeper than ${MAX_DEPTH} levels`, TOP)
  }
  for (const inner of Object.values(value)) refuseDepth(inner, depth + 1)
}
