import { isObject } from '../../../kernel/is-object.ts'
import { mayBeEmpty } from '../body.ts'
import type { Components, Schema } from './components.ts'

interface Route {
  readonly method: string
  readonly url: string
  readonly schema: {
    readonly tags?: readonly string[]
    readonly summary?: string
    readonly description?: string
    readonly params?: unknown
    readonly querystring?: unknown
    readonly headers?: unknown
    readonly body?: unknown
    readonly response?: unknown
  }
}

const JSON_TYPE = 'application/json'

/** One route as an OpenAPI operation. A response of its own replaces the problem of the same status. */
export function operationOf(
  { method, url, schema }: Route,
  security: readonly object[],
  problems: Readonly<Record<number, object>>,
  components: Components,
): object {
  const { tags, summary, description, params, querystring, headers, body, response } = schema
  const own = Object.entries((response ?? {}) as Record<string, Schema>).map(([status, answer]) => [
    status,
    responseOf(answer, components),
  ])
  return {
    operationId: operationId(method, url),
    tags,
    summary,
    description,
    security,
    parameters: [
      ...parametersIn('path', params, components),
      ...parametersIn('query', querystring, components),
      ...parametersIn('header', headers, components),
    ],
    ...(body !== undefined && {
      requestBody: {
        required: !mayBeEmpty(body),
        content: { [JSON_TYPE]: { schema: components.refer(body) } },
      },
    }),
    responses: { ...problems, ...Object.fromEntries(own) },
  }
}

/** `PATCH /api/servers/:id` becomes `patch_servers_id`. */
function operationId(method: string, url: string): string {
  const segments = url.replace(/^\/api\//, '').split('/')
  const words = [method.toLowerCase(), ...segments.filter((segment) => segment !== '')]
  return words.join('_').replaceAll(':', '').replaceAll('-', '_')
}

function parametersIn(place: 'path' | 'query' | 'header', schema: unknown, components: Components): object[] {
  if (!isObject(schema)) return []
  const { properties = {}, required = [] } = schema as { properties?: object; required?: readonly string[] }
  return Object.entries(properties).map(([name, { description, ...field }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    description,
    schema: components.refer(field),
  }))
}

function responseOf(schema: Schema, components: Components): object {
  const { description, type, content } = schema
  if (type === 'null') return { description: description ?? 'Done. The response has no body.' }
  if (!isObject(content))
    return { description, content: { [JSON_TYPE]: { schema: components.refer(schema) } } }
  const kinds = Object.entries(content as Record<string, Schema>).map(
    ([kind, { schema: inner, ...more }]) => [kind, { schema: components.refer(inner), ...more }],
  )
  return { description, content: Object.fromEntries(kinds) }
}
