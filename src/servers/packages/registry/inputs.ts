import { isObject } from '../../../kernel/is-object.ts'
import { objectOf, objectsIn, own, type Raw, textOf } from '../raw-json.ts'

/** A value of a server.json that the user must fill in. */
export interface Required {
  readonly name: string
  readonly description: string | null
  readonly secret: boolean
}

/** Only names in braces: a value may be JSON. */
const PLACEHOLDER = /\{([A-Za-z_][\w.-]{0,127})\}/g
const MAX_VALUES = 64
const MAX_LENGTH = 4096

/** Environment variables or headers. Values that the user must fill in are empty and listed in `required`. */
export function fieldsOf(value: unknown, name: RegExp) {
  const values: Record<string, string> = Object.create(null)
  const required: Required[] = []
  for (const raw of objectsIn(value, MAX_VALUES)) {
    const key = textOf(raw.name, 256)
    if (key === null || !name.test(key) || key === '__proto__') continue
    const given = givenIn(raw)
    if (given === undefined && raw.isRequired !== true && !hasTemplate(raw)) continue
    values[key] = given ?? ''
    if (given === undefined) required.push(requiredOf(raw, key))
  }
  return { values: { ...values }, required }
}

/** The arguments of the program. Values that the user must fill in are written as `<name>`. */
export function argumentsOf(value: unknown) {
  const args: string[] = []
  const required: Required[] = []
  for (const raw of objectsIn(value, MAX_VALUES)) {
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

/** Replaces each `{name}` by the variable's value. Names without a value are in `missing`. */
export function fillTemplate(template: string, variables: Raw): { text: string; missing: string[] } {
  const missing: string[] = []
  const text = template.replace(PLACEHOLDER, (whole, name: string) => {
    const variable = own(variables, name)
    const value = isObject(variable) ? plainValue(variable) : undefined
    if (value === undefined) missing.push(name)
    return value ?? whole
  })
  return { text, missing }
}

/** Undefined when the user must fill it in. */
function givenIn(raw: Raw): string | undefined {
  if (!hasTemplate(raw)) return plainValue(raw)
  const { text, missing } = fillTemplate(String(raw.value), objectOf(raw.variables))
  return missing.length > 0 ? undefined : text
}

const hasTemplate = (raw: Raw) => typeof raw.value === 'string' && raw.value.search(PLACEHOLDER) >= 0

function plainValue(raw: Raw): string | undefined {
  const value = raw.value ?? raw.default
  if (typeof value === 'boolean' || typeof value === 'number') return String(value)
  const usable = typeof value === 'string' && value.length <= MAX_LENGTH && !/[\0\r\n]/.test(value)
  return usable ? value : undefined
}

const requiredOf = (raw: Raw, name: string): Required => ({
  name,
  description: textOf(raw.description),
  secret: raw.isSecret === true || Object.values(objectOf(raw.variables)).some(isSecret),
})

const isSecret = (value: unknown) => isObject(value) && value.isSecret === true
