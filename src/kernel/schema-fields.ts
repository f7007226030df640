import * as Type from 'typebox'

/** The fields that schemas are made of. TypeBox has the rest. */

export const text = (description: string, options?: Type.TStringOptions) =>
  Type.String({ description, ...options })
export const textOrNull = (description: string, options?: Type.TStringOptions) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description, ...options })
export const texts = (description: string, options?: Type.TArrayOptions) =>
  Type.Array(Type.String(), { description, ...options })
export const integer = (description: string, options?: Type.TNumberOptions) =>
  Type.Integer({ description, ...options })
export const boolean = (description: string, options?: Type.TSchemaOptions) =>
  Type.Boolean({ description, ...options })

/** An optional boolean that is false by default. */
export const flag = (description: string) => Type.Optional(Type.Boolean({ default: false, description }))

/** A list of objects with these fields. Its description comes first, if it has one. */
export function objects<P extends Type.TProperties>(fields: P): Type.TArray<Type.TObject<P>>
export function objects<P extends Type.TProperties>(
  description: string,
  fields: P,
): Type.TArray<Type.TObject<P>>
export function objects<P extends Type.TProperties>(first: string | P, second?: P) {
  if (typeof first !== 'string') return Type.Array(Type.Object(first))
  return Type.Array(Type.Object(second as P), { description: first })
}

/** An object with any fields. */
export const anyObject = (options?: Type.TObjectOptions) =>
  Type.Object({}, { additionalProperties: true, ...options })

/** An object that has no other fields. */
export const closed = <P extends Type.TProperties>(fields: P, options?: Type.TObjectOptions) =>
  Type.Object(fields, { additionalProperties: false, ...options })

/** An object that has no other fields, and may omit each of these. */
export const partial = <P extends Type.TProperties>(fields: P, options?: Type.TObjectOptions) =>
  closed(optional(fields), options)

/** The fields, each of which may be omitted. Those that are optional already are not copied: it takes time at each start. */
export function optional<P extends Type.TProperties>(fields: P) {
  const optionalOf = (field: Type.TSchema) => (Type.IsOptional(field) ? field : Type.Optional(field))
  const entries = Object.entries(fields).map(([name, field]) => [name, optionalOf(field)])
  return Object.fromEntries(entries) as { [N in keyof P]: Type.TOptional<P[N]> }
}
