import { type OutputUnit, type SchemaDraft, Validator } from '@cfworker/json-schema'
import { t } from '../messages.ts'
import { withNumbers } from './exact-json.ts'
import { affordable } from './patterns.ts'
import type { Schema } from './schema.ts'

/** What is wrong, by the JSON pointer of the field: `#/title`. */
export type Problems = ReadonlyMap<string, string>

const DRAFTS: readonly (readonly [string, SchemaDraft])[] = [
  ['draft-04', '4'],
  ['draft-06', '7'],
  ['draft-07', '7'],
  ['2019-09', '2019-09'],
]

/** These only say that something inside of them is wrong. */
const WRAPPERS = [
  'properties',
  '$ref',
  'items',
  'prefixItems',
  'anyOf',
  'oneOf',
  'allOf',
  'additionalProperties',
  'patternProperties',
  'then',
  'else',
  'if',
  'dependentSchemas',
]

export interface Findings {
  readonly problems: Problems
  /** A pattern was not evaluated, because that might take too long. */
  readonly hasUnchecked: boolean
}

/** A schema that cannot be used (a `$ref` to nowhere, a wrong pattern) refuses nothing: the server decides. */
export function findingsIn(schema: Schema, value: unknown): Findings {
  const { schema: cheap, left } = affordable(schema, value)
  return { problems: problemsIn(cheap, withNumbers(value)), hasUnchecked: left }
}

function problemsIn(schema: Schema, value: unknown): Problems {
  const named = typeof schema.$schema === 'string' ? schema.$schema : ''
  const draft = DRAFTS.find(([name]) => named.includes(name))?.[1] ?? '2020-12'
  try {
    const { errors } = new Validator(usable(schema), draft, false).validate(value)
    return leavesOf(errors)
  } catch {
    return new Map()
  }
}

/** Some servers write an empty map as a list. */
function usable(schema: Schema): Schema {
  return Array.isArray(schema.properties) ? { ...schema, properties: {} } : schema
}

function leavesOf(errors: readonly OutputUnit[]): Problems {
  const leaves = errors.filter(({ keyword }) => !WRAPPERS.includes(keyword))
  const shown = leaves.length > 0 ? leaves : errors
  const problems = new Map<string, string>()
  for (const { keyword, instanceLocation, error } of shown) {
    const missing = keyword === 'required' ? /"(.*)"/.exec(error)?.[1] : undefined
    const place = missing === undefined ? instanceLocation : `${instanceLocation}/${missing}`
    if (!problems.has(place)) problems.set(place, missing === undefined ? error : t('required'))
  }
  return problems
}
