import { isAlias, isCollection, isMap, isScalar, isSeq, type ParsedNode, visit } from 'yaml'
import type { Path, Step } from '../format.ts'
import { columnOf, refuse } from './lines.ts'
import { isNothing, type Parsed } from './parse.ts'
import { type Item, isFlow, itemsOf } from './tree.ts'

/** One value on the way from the top of the file to where the path leads. */
export interface Level {
  /** Undefined when nothing stands there. */
  readonly node: ParsedNode | undefined
  /** The members or items; none when it is neither map nor list. */
  readonly items: readonly Item[]
  /** Which of the items of the level above it is; undefined for the top. */
  readonly item: Item | undefined
  /** Behind its colon, its dash, or the `---` before it. */
  readonly after: number | undefined
  /** Of its name or its dash; -1 for the top. */
  readonly column: number
  /** Inside brackets: indentation means nothing there. */
  readonly isInFlow: boolean
}

const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype'])

/** The values on the path as far as they exist, first the top. All of them exist when there is one more than steps. */
export function walk(parsed: Parsed, path: Path): Level[] {
  if (path.length === 0) refuse(parsed.text, 0, 'The path must name something in the file')
  for (const step of path) refuseStep(parsed.text, step)
  const levels: Level[] = [topOf(parsed)]
  for (const step of path) {
    const above = levels.at(-1) as Level
    refuseKind(parsed.text, above, step)
    const item = itemAt(parsed.text, above, step)
    if (!item) break
    levels.push(levelOf(parsed.text, above, item))
  }
  return levels
}

function topOf({ text, root, marker }: Parsed): Level {
  if (root) refuseMarked(text, root, root.range[0])
  const items = root ? itemsOf(text, root) : []
  return { node: root, items, item: undefined, after: marker, column: -1, isInFlow: false }
}

function levelOf(text: string, above: Level, item: Item): Level {
  const node = item.value && !isBare(item.value) ? item.value : undefined
  if (item.isOdd) refuse(text, item.start, 'A name with `?`, an anchor or a tag before it cannot be edited')
  if (item.value) refuseMarked(text, item.value, item.start)
  const items = node ? itemsOf(text, node) : []
  const isInFlow = above.isInFlow || (above.node !== undefined && isFlow(above.node))
  return { node, items, item, after: item.after, column: columnOf(text, item.start), isInFlow }
}

function isBare(node: ParsedNode): boolean {
  return isNothing(node) && !node.anchor && !node.tag
}

function refuseStep(text: string, step: Step): void {
  const names = typeof step === 'string' ? [step] : 'item' in step ? [step.item] : [step.field, step.is]
  if (names.some((name) => FORBIDDEN.has(name))) {
    refuse(text, 0, 'The names __proto__, constructor and prototype cannot be used; choose another name')
  }
}

/** Who changes what an anchor names, changes it in all places. */
function refuseMarked(text: string, node: ParsedNode, at: number): void {
  if (isAlias(node) || node.anchor) refuse(text, at, 'An anchor or alias (& or *) cannot be edited here')
  if (node.tag) refuse(text, at, 'A value with a tag (!) cannot be edited here')
}

/** The same for all that stands inside a value that is replaced or taken out. */
export function refuseMarksIn(text: string, { node, item }: Level): void {
  if (!node) return
  visit(node, (key, inner) => {
    if (typeof inner !== 'object' || inner === null || !('range' in inner)) return undefined
    refuseMarked(text, inner as ParsedNode, (inner as ParsedNode).range[0] ?? item?.start ?? 0)
    if (key === 'key' && isScalar(inner) && inner.value === '<<') refuseMerge(text, inner as ParsedNode)
    return undefined
  })
}

function refuseMerge(text: string, key: ParsedNode): never {
  return refuse(text, key.range[0], 'A map with a merge key (<<) cannot be edited here')
}

/** An empty value may become what the path needs. */
function refuseKind(text: string, { node, items, item }: Level, step: Step): void {
  if (!node || (isScalar(node) && node.value === null)) return
  const at = item?.start ?? node.range[0]
  if (typeof step === 'string' && !isMap(node)) refuse(text, at, 'A map is needed here, and this is none')
  if (typeof step !== 'string' && !isSeq(node)) refuse(text, at, 'A list is needed here, and this is none')
  const merge = items.find(({ key }) => nameOf(key) === '<<')
  if (merge?.key) refuseMerge(text, merge.key)
}

function itemAt(text: string, { items }: Level, step: Step): Item | undefined {
  const [first, second] = items.filter((item) => fits(item, step))
  if (second) refuse(text, second.start, 'This stands in the list twice; remove one of the two')
  return first
}

function fits({ key, value }: Item, step: Step): boolean {
  if (typeof step === 'string') return nameOf(key) === step
  if ('item' in step) return isScalar(value) && value.value === step.item
  if (!isMap(value)) return false
  const field = value.items.find((pair) => nameOf(pair.key as ParsedNode) === step.field)
  return isScalar(field?.value) && field.value.value === step.is
}

function nameOf(key: ParsedNode | undefined): string | undefined {
  return isScalar(key) ? String(key.value) : undefined
}

/** Nothing, null, or a map or list that holds nothing. */
export function isEmpty({ node, items }: Level): boolean {
  if (!node || (isScalar(node) && node.value === null)) return true
  return isCollection(node) && items.length === 0
}
