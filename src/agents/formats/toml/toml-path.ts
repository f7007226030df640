import { type ItemStep, isItem, type Path, type Step, stepName } from '../../catalogue/json-value.ts'
import { refusal } from '../text.ts'
import { listOf, startOf, type Target, type TomlDoc, tableJson, tableOf, valueJson } from './toml-model.ts'

/** The existing values on the path, the top of the file first. All exist if there is one more than steps. */
export function walk(doc: TomlDoc, path: Path): [Target, ...Target[]] {
  const found: [Target, ...Target[]] = [doc.root]
  let target: Target = doc.root
  for (const [index, step] of path.entries()) {
    const next = follow(doc, target, step, path.slice(0, index))
    if (next === undefined) break
    found.push(next)
    target = next
  }
  return found
}

function follow(doc: TomlDoc, target: Target, step: Step, before: Path): Target | undefined {
  if (typeof step === 'string') {
    const table = tableOf(target)
    if (table === undefined) throw notA('table', doc, target, before)
    return table.members.get(step)
  }
  const found = itemsOf(doc, target, step, before)
  const second = found[1]
  if (second !== undefined) {
    throw refusal(
      doc.text,
      startOf(second),
      `Duplicate ${pathText([...before, step])}. Remove one of the two first`,
    )
  }
  return found[0]
}

function itemsOf(doc: TomlDoc, target: Target, step: ItemStep, before: Path): Target[] {
  if (target.type === 'tables' && 'field' in step) {
    return target.items.filter((table) => isItem(tableJson(table), step))
  }
  const list = listOf(target)
  if (list === undefined) throw notA('item' in step ? 'list of strings' : 'list', doc, target, before)
  return list.items
    .map((value, index): Target => ({ type: 'item', list, index, value }))
    .filter((item) => item.type === 'item' && isItem(valueJson(item.value), step))
}

function notA(what: string, doc: TomlDoc, target: Target, path: Path): Error {
  return refusal(doc.text, startOf(target), `${pathText(path)} must be a ${what}`)
}

export function pathText(path: Path): string {
  if (path.length === 0) return 'The top of the file'
  return `'${path.map(stepName).join('.')}'`
}
