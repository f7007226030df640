import {
  type ItemWith,
  itemOf,
  type Json,
  type Path,
  type Step,
  stepName,
  wrapped,
} from '../../catalogue/json-value.ts'
import { CannotEdit } from '../format.ts'
import { refusal } from '../text.ts'
import { type Container, MAX_DEPTH, type Member, type Node } from './json-tree.ts'

/** One step of a path: a map or list, and the member that the step leads to. */
export interface Level {
  readonly container: Container
  /** -1 if there is no such member. */
  readonly index: number
}

/** As many levels as exist: fewer than steps if something on the path is missing, none if the text is empty. */
export function walk(text: string, root: Node | undefined, path: Path): Level[] {
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

function containerFor(text: string, node: Node, step: Step, previous: Step | undefined): Container {
  const kind = typeof step === 'string' ? 'map' : 'list'
  if (node.kind === kind) return node
  const what = previous === undefined ? 'The top of this file' : `'${stepName(previous)}'`
  throw refusal(text, node.start, `${what} must be ${kind === 'map' ? 'an object { }' : 'a list [ ]'}`)
}

function indexOfStep(text: string, { members }: Container, step: Step): number {
  let found = -1
  for (const [index, member] of members.entries()) {
    if (!isMatch(text, member, step)) continue
    if (found !== -1) throw duplicate(text, member, stepName(step))
    found = index
  }
  return found
}

function isMatch(text: string, { name, node }: Member, step: Step): boolean {
  if (typeof step === 'string') return name === step
  if ('item' in step) return node.kind === 'scalar' && node.value === step.item
  return node.kind === 'map' && hasField(text, node, step)
}

function hasField(text: string, { members }: Container, { field, is }: ItemWith): boolean {
  const fields = members.filter(({ name }) => name === field)
  const isFound = fields.some(({ node }) => node.kind === 'scalar' && node.value === is)
  if (isFound && fields[1] !== undefined) throw duplicate(text, fields[1], field)
  return isFound
}

function duplicate(text: string, { start }: Member, name: string): CannotEdit {
  return refusal(text, start, `Duplicate '${name}'. Remove one of the two first`)
}

/** The value for the step at `from`, inside the maps and lists that the later steps need. */
export function valueFrom(path: Path, from: number, value: Json): Json {
  const step = path[from]
  const inner = wrapped(path.slice(from + 1), value)
  return typeof step === 'object' ? itemOf(step, inner) : inner
}

export function assertWritable(value: Json, depth: number): void {
  if (typeof value === 'number' && !Number.isFinite(value)) throw unwritable('JSON has only finite numbers')
  if (typeof value !== 'object' || value === null) return
  if (depth >= MAX_DEPTH) throw unwritable(`The value is nested deeper than ${MAX_DEPTH} levels`)
  for (const inner of Object.values(value)) assertWritable(inner, depth + 1)
}

const unwritable = (message: string): CannotEdit => new CannotEdit(message, { line: 1, column: 1 })
