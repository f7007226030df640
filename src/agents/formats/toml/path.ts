import type { ItemThatIs, ItemWith, Path, Step } from '../format.ts'
import { listOf, startOf, type Target, type TomlDoc, tableOf } from './model.ts'
import { cannot } from './scan/cursor.ts'
import { isThis, tableJson, valueJson } from './to-json.ts'

const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype'])

/** What is there on the way: the top of the file first, then what each step leads to, as far as there is something. */
export function walk(doc: TomlDoc, path: Path): [Target, ...Target[]] {
  checkPath(doc, path)
  const way: [Target, ...Target[]] = [doc.root]
  let target: Target = doc.root
  for (const [index, step] of path.entries()) {
    const next = follow(doc, target, step, path.slice(0, index))
    if (next === undefined) break
    way.push(next)
    target = next
  }
  return way
}

function checkPath(doc: TomlDoc, path: Path): void {
  for (const step of path) {
    const names = typeof step === 'string' ? [step] : 'item' in step ? [] : [step.field]
    const forbidden = names.find((name) => FORBIDDEN.has(name))
    if (forbidden !== undefined) throw cannot(doc.text, 0, `'${forbidden}' cannot be the name of an entry`)
    const words = typeof step === 'string' ? [step] : Object.values<string>({ ...step })
    if (!words.every((word) => word.isWellFormed())) {
      throw cannot(doc.text, 0, 'The name of the entry is no valid Unicode')
    }
  }
}

function follow(doc: TomlDoc, target: Target, step: Step, before: Path): Target | undefined {
  if (typeof step === 'string') {
    const table = tableOf(target)
    if (table === undefined) throw notA('map', doc, target, before)
    return table.members.get(step)
  }
  const found = itemsOf(doc, target, step, before)
  const second = found[1]
  if (second !== undefined) {
    throw cannot(doc.text, startOf(second), `${pathText([...before, step])} stands there twice; remove one`)
  }
  return found[0]
}

function itemsOf(doc: TomlDoc, target: Target, step: ItemWith | ItemThatIs, before: Path): Target[] {
  if (target.type === 'tables' && 'field' in step) {
    return target.items.filter((table) => isThis(step, tableJson(table)))
  }
  const list = listOf(target)
  if (list === undefined) throw notA('item' in step ? 'list of texts' : 'list', doc, target, before)
  return list.items
    .map((value, index): Target => ({ type: 'item', list, index, value }))
    .filter((item) => item.type === 'item' && isThis(step, valueJson(item.value)))
}

function notA(what: string, doc: TomlDoc, target: Target, path: Path): Error {
  return cannot(
    doc.text,
    startOf(target),
    `${pathText(path)} is no ${what}, so that nothing can be put there`,
  )
}

export function pathText(path: Path): string {
  if (path.length === 0) return 'The top of the file'
  return `'${path.map((step) => (typeof step === 'string' ? step : 'item' in step ? step.item : step.is)).join('.')}'`
}
