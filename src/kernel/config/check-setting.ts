/** The part of JSON Schema that settings use. */
export interface SettingSchema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly maxItems?: number
  readonly items?: SettingSchema
}

/** Whether a setting has the type and the limits in its schema. Every command reads settings, so it loads no validator. */
export function isSetting(schema: SettingSchema, value: unknown): boolean {
  const { type, pattern, items } = schema
  if (schema.enum) return schema.enum.includes(value)
  if (type === 'boolean') return typeof value === 'boolean'
  if (type === 'integer') return Number.isInteger(value) && isWithin(value, schema.minimum, schema.maximum)
  if (type === 'array')
    return (
      Array.isArray(value) &&
      isWithin(value.length, 0, schema.maxItems) &&
      value.every((item) => items !== undefined && isSetting(items, item))
    )
  return (
    typeof value === 'string' &&
    isWithin([...value].length, schema.minLength, schema.maxLength) &&
    (pattern === undefined || new RegExp(pattern, 'u').test(value))
  )
}

const isWithin = (value: unknown, least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY) =>
  Number(value) >= least && Number(value) <= most
