import type { FastifyInstance } from 'fastify'
import { AppError, type FieldError } from '../../kernel/errors.ts'
import { unsafeText } from './body.ts'

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
