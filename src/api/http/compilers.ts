import ajvCompiler from '@fastify/ajv-compiler'
import stringifyCompiler from '@fastify/fast-json-stringify-compiler'
import type { FastifyInstance, FastifySerializerCompiler } from 'fastify'

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
