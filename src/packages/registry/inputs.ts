import { isObject, own, textOf } from './packument.ts'

/** The values that a server.json names, some given and some left to the person. */

export interface Required {
  readonly name: string
  readonly description: string | null
  readonly secret: boolean
}

type Raw = Readonly<Record<string, unknown>>
export type Inputs = Raw
/** Not every pair of braces: a value may be JSON. */
const PLACE = /\{([A-Za-z_][\w.-]{0,127})\}/g
const MAX_VALUES = 64
const MAX_LENGTH = 4096

export const inputsOf = (value: unknown): Inputs => (isObject(value) ? value : {})

/** Environment variables or headers. What is needed and not given stays empty, and stands in `required`. */
export function fieldsOf(value: unknown, name: RegExp) {
  const values: Record<string, string> = Object.create(null)
  const required: Required[] = []
  for (const raw of objectsIn(value)) {
    const key = textOf(raw.name, 256)
    if (key === null || !name.test(key) || key === '__proto__') continue
    const given = givenIn(raw)
    if (given === undefined && raw.isRequired !== true && !hasTemplate(raw)) continue
    values[key] = given ?? ''
    if (given === undefined) required.push(requiredOf(raw, key))
  }
  return { values: { ...values }, required }
}

/** The words behind the program. What is needed and not given is written as `<name>`. */
export function argumentsOf(value: unknown) {
  const args: string[] = []
  const required: Required[] = []
  for (const raw of objectsIn(value)) {
    const flag = raw.type === 'named' ? textOf(raw.name, 256) : null
    if (raw.type === 'named' && flag === null) continue
    const given = givenIn(raw)
    const label = flag ?? textOf(raw.valueHint, 100) ?? 'value'
    const isNeeded = given === undefined && (raw.isRequired === true || hasTemplate(raw))
    if (isNeeded) required.push(requiredOf(raw, label))
    if (flag !== null && (isNeeded || given !== undefined || raw.isRequired === true)) args.push(flag)
    if (isNeeded) args.push(`<${label.replace(/^-+/, '')}>`)
    else if (given !== undefined && given !== '') args.push(given)
  }
  return { args, required }
}

/** `{name}` is filled in from the variables. One without a value is missing, for nobody means the braces themselves. */
export function filled(template: string, variables: Inputs): { text: string; missing: string[] } {
  const missing: string[] = []
  const text = template.replace(PLACE, (whole, name: string) => {
    const variable = own(variables, name)
    const value = isObject(variable) ? plainValue(variable) : undefined
    if (value === undefined) missing.push(name)
    return value ?? whole
  })
  return { text, missing }
}

/** Undefined when only the person can know it. */
function givenIn(raw: Raw): string | undefined {
  if (!hasTemplate(raw)) return plainValue(raw)
  const { text, missing } = filled(String(raw.value), inputsOf(raw.variables))
  return missing.length > 0 ? undefined : text
}

const hasTemplate = (raw: Raw) => typeof raw.value === 'string' && raw.value.search(PLACE) >= 0

function plainValue(raw: Raw): string | undefined {
  const value = raw.value ?? raw.default
  if (typeof value === 'boolean' || typeof value === 'number') return String(value)
  const usable = typeof value === 'string' && value.length <= MAX_LENGTH && !/[\0\r\n]/.test(value)
  return usable ? value : undefined
}

const requiredOf = (raw: Raw, name: string): Required => ({
  name,
  description: textOf(raw.description),
  secret: raw.isSecret === true || Object.values(inputsOf(raw.variables)).some(isSecret),
})

const isSecret = (value: unknown) => isObject(value) && value.isSecret === true

const objectsIn = (value: unknown): Raw[] =>
  Array.isArray(value) ? value.slice(0, MAX_VALUES).filter(isObject) : []
