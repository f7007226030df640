import ajvCompiler from '@fastify/ajv-compiler'
import stringifyCompiler from '@fastify/fast-json-stringify-compiler'
import type { FastifyError, FastifyInstance, FastifySerializerCompiler } from 'fastify'
import { nearest } from '../../kernel/did-you-mean.ts'
import { AppError, type FieldError, pointer } from '../../kernel/errors.ts'
import { unsafeText } from './json-body.ts'

const MAX_ERRORS = 20
const MAX_FINDINGS = 200

interface ParentSchema {
  readonly expected?: string
  readonly properties?: object
  readonly patternProperties?: unknown
}

interface AjvError {
  readonly instancePath: string
  readonly keyword: string
  readonly params: Record<string, unknown>
  readonly message?: string
  readonly parentSchema?: ParentSchema
}

/** Translates the validator's findings. Values are not repeated, because they may be secrets. */
export function validationError(error: FastifyError, body: unknown): AppError {
  if (error.validationContext === 'body' && body === undefined)
    return new AppError('invalid_json', 'The body is empty')
  const all = (error.validation ?? []) as unknown as AjvError[]
  const found = all.slice(0, MAX_FINDINGS) // before texts are made of them
  const errors = distinct(found.filter((finding) => !isNoise(finding, found)).map(fieldError)).slice(
    0,
    MAX_ERRORS,
  )
  const [first] = errors
  const subject = first?.path.slice(1).replaceAll('/', '.') || (error.validationContext ?? 'input')
  const detail =
    errors.length === 1 ? `${subject} ${first?.message}` : `${errors.length} fields are not valid`
  return new AppError('invalid_input', detail, { errors })
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}

const kindOf = (type: unknown): string =>
  [type]
    .flat()
    .map((each) => KINDS[String(each)] ?? String(each))
    .join(' or ')

function fieldError({ instancePath, keyword, params, message, parentSchema }: AjvError): FieldError {
  const at = (name: unknown) => `${instancePath}/${pointer(String(name))}`
  switch (keyword) {
    case 'required':
      return { path: at(params.missingProperty), message: 'is required' }
    case 'additionalProperties':
      return { path: at(params.additionalProperty), message: unknownField(params, parentSchema) }
    case 'type':
      return { path: instancePath, message: `must be ${kindOf(params.type)}` }
    case 'enum':
      return {
        path: instancePath,
        message: `must be one of ${(params.allowedValues as unknown[]).join(', ')}`,
      }
    case 'const':
      return { path: instancePath, message: `must be ${JSON.stringify(params.allowedValue)}` }
    case 'minProperties':
      return { path: instancePath, message: 'must have at least one field' }
    case 'pattern':
      return { path: instancePath, message: `must be ${parentSchema?.expected ?? 'in the documented form'}` }
    default:
      return { path: instancePath, message: message ?? 'is not valid' }
  }
}

function unknownField(
  { additionalProperty: name }: AjvError['params'],
  { properties = {}, patternProperties }: ParentSchema = {},
): string {
  if (patternProperties) return 'is not an allowed name'
  const meant = nearest(String(name), Object.keys(properties))
  return meant === undefined ? 'is not a known field' : `is not a known field: did you mean '${meant}'?`
}

/** For `null | string`, the validator reports "must be null" in addition to the actual error. */
function isNoise({ keyword, instancePath, params }: AjvError, all: readonly AjvError[]): boolean {
  if (keyword === 'anyOf')
    return all.some((other) => other.keyword !== 'anyOf' && other.instancePath === instancePath)
  return keyword === 'type' && params.type === 'null'
}

function distinct(errors: readonly FieldError[]): FieldError[] {
  return [...new Map(errors.map((error) => [`${error.path} ${error.message}`, error])).values()]
}

/** Input is never converted, dropped or filled in. */
const STRICT = {
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  allErrors: true,
  verbose: true,
  allowUnionTypes: true,
  keywords: ['expected'],
  // All schemas are our own, and a test checks them. Doing it here would cost 60 ms at the first request with input.
  validateSchema: false,
}

interface Validate {
  (data: unknown): unknown
  errors?: unknown
}

type Serialize = (data: unknown) => string

/** By schema, so that routes with the same one share the code, and so do the services of one process. */
const validators = new WeakMap<object, Validate>()
const serializers = new WeakMap<object, Serialize>()

/**
 * Validators and serializers are generated code, a few milliseconds each. They are generated when a route is first used,
 * so that the start does not pay for them.
 */
export function compileWhenUsed(app: FastifyInstance): void {
  const compileValidator = ajvCompiler()({}, { customOptions: STRICT }) as unknown as (
    route: object,
  ) => Validate
  app.setValidatorCompiler((route) => {
    let made: Validate | undefined
    const validate: Validate = (data) => {
      made ??= madeFor(validators, route.schema, () => compileValidator(route))
      const ok = made(data)
      validate.errors = made.errors
      return ok
    }
    return validate as never
  })
  const compileSerializer = stringifyCompiler()({}, {})
  const serializerCompiler: FastifySerializerCompiler<object> = (route) => {
    let made: Serialize | undefined
    return (data) => {
      made ??= madeFor(serializers, route.schema, () =>
        compileSerializer(route as Parameters<typeof compileSerializer>[0]),
      )
      return made(data)
    }
  }
  app.setSerializerCompiler(serializerCompiler)
}

function madeFor<T>(all: WeakMap<object, T>, schema: object, make: () => T): T {
  const made = all.get(schema) ?? make()
  all.set(schema, made)
  return made
}

type Schema = { readonly type?: string; readonly properties?: Readonly<Record<string, Schema>> }

const NOTHING = { type: 'object', properties: {}, additionalProperties: false }

/**
 * Converts query strings by schema: decimal integers, `true` and `false`, repeated keys for lists. What does not convert
 * stays text, and validation refuses it. A route without a schema accepts no parameters.
 */
export function readQueriesBySchema(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    route.schema ??= {}
    route.schema.querystring ??= NOTHING
  })
  app.addHook('preValidation', async (request) => {
    const schema = request.routeOptions.schema?.querystring as Schema | undefined
    const query = request.query as Record<string, string | string[]>
    refuseUnsafe(query)
    request.query = typed(schema?.properties ?? {}, query)
  })
}

function typed(properties: Readonly<Record<string, Schema>>, query: Record<string, string | string[]>) {
  return Object.fromEntries(
    Object.entries(query).map(([key, text]) => {
      const type = Object.hasOwn(properties, key) ? properties[key]?.type : undefined
      return [key, typedValue(type, text)]
    }),
  )
}

function typedValue(type: string | undefined, text: string | string[]): unknown {
  if (type === 'array') return typeof text === 'string' ? [text] : text
  if (typeof text !== 'string') return text
  if (type === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

function refuseUnsafe(query: Record<string, string | string[]>): void {
  const errors: FieldError[] = []
  for (const [key, text] of Object.entries(query)) {
    const message = [key, text]
      .flat()
      .map(unsafeText)
      .find((found) => found !== undefined)
    if (message !== undefined) errors.push({ path: `/${key.slice(0, 64).replaceAll('\0', '')}`, message })
  }
  if (errors.length > 0) throw new AppError('invalid_input', 'The query contains invalid text', { errors })
}
