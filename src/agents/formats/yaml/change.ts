import type { Json, Path, Step } from '../format.ts'

type Map = { readonly [name: string]: Json }

/** What the file shall say after a change, worked out on values: the edited text is held against it. */

/** The value with the steps that lead to it: `{ name: value }`, `[{ name: 'x', ...value }]`, `['x']`. */
export function wrapped(steps: Path, value: Json): Json {
  return steps.reduceRight<Json>((inner, step) => {
    if (typeof step === 'string') return { [step]: inner }
    return [itemOf(step, inner)]
  }, value)
}

/** An item of a list holds what it is found by. */
export function itemOf(step: Exclude<Step, string>, value: Json): Json {
  return 'item' in step ? step.item : { [step.field]: step.is, ...(value as Map) }
}

export function withValue(old: Json | undefined, path: Path, value: Json): Json {
  const [step, ...rest] = path
  if (step === undefined) return value
  if (old === undefined || old === null) return wrapped(path, value)
  if (typeof step === 'string') {
    const map = old as Map
    return { ...map, [step]: withValue(Object.hasOwn(map, step) ? map[step] : undefined, rest, value) }
  }
  const list = old as readonly Json[]
  const index = list.findIndex((item) => fits(item, step))
  if (index < 0) return [...list, ...(wrapped(path, value) as Json[])]
  return list.with(index, itemOf(step, withValue(list[index], rest, value)))
}

/** Without what the path leads to. What is empty then becomes `emptied`, when that is given. */
export function withoutValue(old: Json, path: Path, emptied: Json | undefined): Json {
  const [step, ...rest] = path
  if (step === undefined) return old
  if (typeof step === 'string') {
    const { [step]: value = null, ...others } = old as Map
    if (rest.length > 0) return { ...(old as Map), [step]: withoutValue(value, rest, emptied) }
    return Object.keys(others).length === 0 && emptied !== undefined ? emptied : others
  }
  const list = old as readonly Json[]
  const index = list.findIndex((item) => fits(item, step))
  if (rest.length > 0) return list.with(index, withoutValue(list[index] ?? null, rest, emptied))
  return list.length === 1 && emptied !== undefined ? emptied : list.toSpliced(index, 1)
}

function fits(item: Json, step: Exclude<Step, string>): boolean {
  if ('item' in step) return item === step.item
  if (item === null || typeof item !== 'object' || Array.isArray(item)) return false
  return Object.hasOwn(item, step.field) && (item as Map)[step.field] === step.is
}

/** The order of names does not matter. */
export function isSame(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  return names.every((name) => Object.hasOwn(b, name) && isSame((a as Map)[name], (b as Map)[name]))
}
