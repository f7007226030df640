import { isAlias, isCollection, isMap, isScalar, isSeq, type ParsedNode, visit } from 'yaml'
import type { Path, Step } from '../../catalogue/json-value.ts'
import type { CannotEdit } from '../format.ts'
import { refusal } from '../text-edits.ts'
import { isNothing, type ParsedYaml } from './yaml-parse.ts'
import { columnOf, type Item, isFlow, itemsOf } from './yaml-tree.ts'

/** One value on a path. */
export interface Level {
  /** Undefined if the value is missing, as in `name:`. */
  readonly node: ParsedNode | undefined
  /** Empty if it is neither a map nor a list. */
  readonly items: readonly Item[]
  /** The item of the level above; undefined for the top. */
  readonly item: Item | undefined
  /** The offset after its colon, its dash, or the leading `---`. */
  readonly after: number | undefined
  /** The column of its name or dash; -1 for the top. */
  readonly column: number
  /** Inside brackets, where indentation has no meaning. */
  readonly isInFlow: boolean
}

/** The existing values on the path, the top first. All exist if there is one more than steps. */
export function walk(parsed: ParsedYaml, path: Path): Level[] {
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

function topOf({ text, root, marker }: ParsedYaml): Level {
  if (root) refuseMarked(text, root, root.range[0])
  const items = root ? itemsOf(text, root) : []
  return { node: root, items, item: undefined, after: marker, column: -1, isInFlow: false }
}

function levelOf(text: string, above: Level, item: Item): Level {
  const node = item.value && !isBare(item.value) ? item.value : undefined
  if (item.isOdd)
    throw refusal(text, item.start, 'A name with `?`, an anchor or a tag before it cannot be edited')
  if (item.value) refuseMarked(text, item.value, item.start)
  const items = node ? itemsOf(text, node) : []
  const isInFlow = above.isInFlow || (above.node !== undefined && isFlow(above.node))
  return { node, items, item, after: item.after, column: columnOf(text, item.start), isInFlow }
}

function isBare(node: ParsedNode): boolean {
  return isNothing(node) && !node.anchor && !node.tag
}

/** A change of an anchored value would affect every alias. */
function refuseMarked(text: string, node: ParsedNode, at: number): void {
  if (isAlias(node) || node.anchor)
    throw refusal(text, at, 'A value with an anchor or alias (& or *) cannot be edited')
  if (node.tag) throw refusal(text, at, 'A value with a tag (!) cannot be edited')
}

/** The same for everything inside a value that is replaced or removed. */
export function refuseMarksIn(text: string, { node, item }: Level): void {
  if (!node) return
  visit(node, (key, inner) => {
    if (typeof inner !== 'object' || inner === null || !('range' in inner)) return undefined
    refuseMarked(text, inner as ParsedNode, (inner as ParsedNode).range[0] ?? item?.start ?? 0)
    if (key === 'key' && isScalar(inner) && inner.value === '<<') throw mergeKey(text, inner as ParsedNode)
    return undefined
  })
}

function mergeKey(text: string, key: ParsedNode): CannotEdit {
  return refusal(text, key.range[0], 'A map with a merge key (<<) cannot be edited')
}

/** An empty value may become a map or a list. */
function refuseKind(text: string, { node, items, item }: Level, step: Step): void {
  if (!node || (isScalar(node) && node.value === null)) return
  const at = item?.start ?? node.range[0]
  if (typeof step === 'string' && !isMap(node)) throw refusal(text, at, 'This must be a map')
  if (typeof step !== 'string' && !isSeq(node)) throw refusal(text, at, 'This must be a list')
  const merge = items.find(({ key }) => nameOf(key) === '<<')
  if (merge?.key) throw mergeKey(text, merge.key)
}

function itemAt(text: string, { items }: Level, step: Step): Item | undefined {
  const [first, second] = items.filter((item) => fits(item, step))
  if (second) throw refusal(text, second.start, 'Duplicate list item. Remove one of the two first')
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

/** Missing, null, or a map or list without items. */
export function isEmpty({ node, items }: Level): boolean {
  if (!node || (isScalar(node) && node.value === null)) return true
  return isCollection(node) && items.length === 0
}
