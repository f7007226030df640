import type { FastifyError } from 'fastify'
import { nearest } from '../../kernel/did-you-mean.ts'
import { AppError, type FieldError, pointer } from '../../kernel/errors.ts'

const MAX_ERRORS = 20

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
  const found = (error.validation ?? []) as unknown as AjvError[]
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
