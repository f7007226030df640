import type { Json } from '../format.ts'
import { setMember } from '../json-value.ts'
import type { Member, Table, Target, Value } from './model.ts'

export function tableJson(table: Table): Json {
  const json = {}
  for (const [name, member] of table.members) setMember(json, name, targetJson(member))
  return json
}

export function targetJson(target: Target | Member): Json {
  if (target.type === 'table') return tableJson(target)
  if (target.type === 'tables') return target.items.map(tableJson)
  return valueJson(target.value)
}

export function valueJson(value: Value): Json {
  if (value.kind === 'inline') return tableJson(value.table)
  return value.kind === 'list' ? value.items.map(valueJson) : value.json
}

/** Undefined for an empty file, which in TOML is the same as an empty table. */
export function orUndefined(json: Json): Json | undefined {
  return Object.keys(json ?? {}).length === 0 ? undefined : json
}
