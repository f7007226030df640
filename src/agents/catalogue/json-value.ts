import { createHash } from 'node:crypto'
import { isObject } from '../../kernel/json/json-checks.ts'
import { sorted } from '../../kernel/json/sorted-keys.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/**
 * One step from the top of a file towards a value: the member with this name, the list item with this field, or the
 * list item that is this string.
 */
export type Step = string | ItemStep
export type ItemStep = ItemWith | ItemThatIs
export interface ItemWith {
  readonly field: string
  readonly is: string
}
export interface ItemThatIs {
  readonly item: string
}
export type Path = readonly Step[]

export const stepName = (step: Step): string =>
  typeof step === 'string' ? step : 'item' in step ? step.item : step.is

/** Reading and changing parsed values, independent of any file format. Nothing is changed in place. */

export type JsonMap = Readonly<Record<string, Json>>

export const isMap = (value: Json | undefined): value is JsonMap => isObject(value)
export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value)

/** Members of every JavaScript object. Programs that keep entries in one would misread them. */
export const PROTOTYPE_NAMES: readonly string[] = ['__proto__', 'constructor', 'prototype']

/** Sets an own member, also one named `__proto__`. */
export function setMember(map: Record<string, Json>, name: string, value: Json): void {
  if (name !== '__proto__') map[name] = value
  else Object.defineProperty(map, name, { value, enumerable: true, configurable: true, writable: true })
}

export function valueAt(root: Json | undefined, path: Path): Json | undefined {
  return path.reduce<Json | undefined>(childOf, root)
}

function childOf(value: Json | undefined, step: Step): Json | undefined {
  if (typeof step === 'string') return isMap(value) && Object.hasOwn(value, step) ? value[step] : undefined
  return isList(value) ? value.find((item) => isItem(item, step)) : undefined
}

/** Whether a step leads to this item of a list. */
export function isItem(item: Json, step: ItemStep): boolean {
  if ('item' in step) return item === step.item
  return isMap(item) && Object.hasOwn(item, step.field) && item[step.field] === step.is
}

/** The list item that a step leads to. It contains the field by which it is found. */
export function itemOf(step: ItemStep, value: Json): Json {
  if ('item' in step) return step.item
  return isMap(value) && !Object.hasOwn(value, step.field) ? { [step.field]: step.is, ...value } : value
}

/** The value inside new maps and lists, one for each step. */
export function wrapped(steps: Path, value: Json): Json {
  return steps.reduceRight<Json>(
    (inner, step) => (typeof step === 'string' ? { [step]: inner } : [itemOf(step, inner)]),
    value,
  )
}

/** A copy with one value set, or removed if it is undefined. Missing maps and lists on the path are created. */
export function withValue(root: Json | undefined, path: Path, value: Json | undefined): Json | undefined {
  const [step, ...rest] = path
  if (step === undefined) return value
  const before = childOf(root, step)
  if (value === undefined && before === undefined) return root
  const after = withValue(before, rest, value)
  if (typeof step !== 'string') return withItem(root, step, after)
  const map: Record<string, Json> = isMap(root) ? { ...root } : {}
  if (after === undefined) delete map[step]
  else setMember(map, step, after)
  return map
}

function withItem(list: Json | undefined, step: ItemStep, value: Json | undefined): Json {
  const items = isList(list) ? [...list] : []
  const found = items.findIndex((item) => isItem(item, step))
  const index = found === -1 ? items.length : found
  items.splice(index, 1, ...(value === undefined ? [] : [itemOf(step, value)]))
  return items
}

/**
 * A copy without the containers on the path that are empty, because formats may drop or keep them. Null counts as
 * empty, and so does a list item that has only the field by which it is found.
 */
export function withoutEmpty(root: Json | undefined, path: Path): Json | undefined {
  for (let length = path.length; length >= 0; length -= 1) {
    const steps = path.slice(0, length)
    const value = valueAt(root, steps)
    if (value === undefined) continue
    if (!isEmpty(value, steps.at(-1))) break
    root = withValue(root, steps, undefined)
  }
  return root
}

function isEmpty(value: Json, step: Step | undefined): boolean {
  if (typeof value !== 'object' || value === null) return value === null
  const isItemWithField = typeof step === 'object' && 'field' in step
  return Object.keys(value).length === (isItemWithField ? 1 : 0)
}

/** Deep equality, in which NaN equals NaN. The order of members matters only with `inOrder`. */
export function isSame(a: Json | undefined, b: Json | undefined, inOrder = false): boolean {
  if (isList(a))
    return isList(b) && a.length === b.length && a.every((item, index) => isSame(item, b[index], inOrder))
  if (!isMap(a) || !isMap(b)) return a === b || (Number.isNaN(a) && Number.isNaN(b))
  const [names, others] = [Object.keys(a), Object.keys(b)]
  const isName = (name: string, index: number) =>
    name === others[index] || (!inOrder && Object.hasOwn(b, name))
  return (
    names.length === others.length &&
    names.every((name, index) => isName(name, index) && isSame(a[name], b[name], inOrder))
  )
}

/**
 * Deep equality in which the order of members matters, except along the path: the members that the path leads through
 * may change places, and so may those of the value at its end.
 */
export function isSameAround(a: Json | undefined, b: Json | undefined, path: Path): boolean {
  const [step, ...rest] = path
  if (step === undefined) return isSame(a, b)
  if (isList(a) && isList(b)) {
    const index = typeof step === 'string' ? -1 : a.findIndex((item) => isItem(item, step))
    const isEach = (item: Json, at: number) =>
      at === index ? isSameAround(item, b[at], rest) : isSame(item, b[at], true)
    return a.length === b.length && a.every(isEach)
  }
  if (!isMap(a) || !isMap(b)) return isSame(a, b)
  const namesIn = (map: JsonMap) => Object.keys(map).filter((name) => name !== step)
  const [names, others] = [namesIn(a), namesIn(b)]
  return (
    names.length === others.length &&
    isSameAround(valueAt(a, [step]), valueAt(b, [step]), rest) &&
    names.every((name, index) => name === others[index] && isSame(a[name], b[name], true))
  )
}

/** Of the values alone: spelling and the order of members do not matter. */
export function hashOf(value: Json): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest('hex')
}
