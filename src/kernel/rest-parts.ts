import type { Static, TObjectOptions, TSchema } from 'typebox'
import * as Type from 'typebox'
import type { ErrorCode } from './error-catalogue.ts'
import { boolean, partial, text } from './schema-fields.ts'

/** What the schemas and routes of all wings share. */

/** Ids appear in paths, file names and process marks, so they use only plain characters. */
export const ID_PATTERN = '^[a-z0-9][a-z0-9._-]{0,63}$'

/** The text, if it can be an id. */
export const idIn = (text: string): string | null => (ID.test(text) ? text : null)
const ID = new RegExp(ID_PATTERN)

interface Titled {
  readonly title?: string
}

/**
 * Names a schema, such as `component({ Server: ServerView }, 'A STDIO server')`: it becomes a component of the OpenAPI
 * document, and the sentence describes the responses that consist of it.
 */
export function component<S extends TSchema>(
  named: Readonly<Record<string, S>>,
  description: string,
  options?: TObjectOptions,
): S {
  const [[title, schema] = []] = Object.entries(named)
  if (schema === undefined) throw new Error('A component needs a name')
  return Object.assign(schema, { title, description }, options)
}

/**
 * The schema, or null. Written as `type: [x, "null"]`: with a union, serializers and validators would try both schemas
 * in turn.
 */
export function orNull<S extends TSchema>(schema: S) {
  const { title: _, ...rest } = schema as Titled
  const { type, enum: values } = schema as { type?: string; enum?: readonly unknown[] }
  const nullable = values ? { ...rest, enum: [...values, null] } : { ...rest, type: [type, 'null'] }
  return Type.Unsafe<Static<S> | null>(nullable)
}

/** ISO-8601 UTC with milliseconds. */
export const Timestamp = Type.String({ format: 'date-time', examples: ['2026-11-15T09:30:00.000Z'] })

/** `{"items": [...], "total": n, "next_cursor": null | "…"}`. The list of a named schema is named after it. */
export function listOf<S extends TSchema>(item: S) {
  const { title } = item as Titled
  const list = Type.Object({
    items: Type.Array(item),
    total: orNull(Type.Integer({ minimum: 0 })),
    next_cursor: orNull(Type.String()),
  })
  return title === undefined ? list : component({ [`${title}List`]: list }, 'One page of the list')
}

export const wholeList = <T>(items: T[]) => ({ items, total: items.length, next_cursor: null })

/**
 * A map that checks every key. TypeBox's own Record accepts keys with a line break: its pattern `^.*$` does not match
 * them, and additional properties are allowed.
 */
export const mapOf = <V extends TSchema>(keyPattern: string, value: V, maxProperties: number) =>
  Type.Record(Type.String({ pattern: keyPattern }), value, { maxProperties, additionalProperties: false })

/** The query of a list that is read page by page. Most cursors are the id of the last item. */
export const pageQuery = (pattern = '^[1-9]\\d{0,14}$') => ({
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100 }),
  cursor: text('`next_cursor` of the previous page', { pattern, expected: 'the next_cursor of a page' }),
})

/** The query of a request that can start a job. */
export const AsyncQuery = partial({ async: boolean('Respond at once with the id of a job') })

export const StartedJob = Type.Object({ job: Type.String({ examples: ['job_0123456789ab'] }) })
component({ StartedJob }, 'The work has started; follow it with the job')

/** The origin of a change, for the audit trail. */
export interface Caller {
  readonly request_id: string | null
  /** Set for a call through the gateway. */
  readonly agent_type?: string
  /** Set for a call in a session of the gateway. */
  readonly session_id?: string | undefined
}

export const callerOf = ({ id }: { readonly id: string }) => ({ request_id: id }) satisfies Caller

/** What a route accepts and returns, and the error codes that are specific to it. */
interface Operation {
  readonly params?: TSchema
  readonly querystring?: TSchema
  readonly headers?: TSchema
  readonly body?: TSchema
  readonly response: Readonly<Record<number, unknown>>
  readonly errors?: readonly ErrorCode[]
  /** The body is passed on to a tool server as it is. */
  readonly passedOn?: boolean
}

/**
 * Returns the function that describes the routes of one group of the OpenAPI document. Its result is passed to the
 * framework as the options of the route.
 */
export function operationsOf(group: string) {
  const tags = [group]
  return <O extends Operation>(summary: string, description: string, { errors, passedOn, ...schema }: O) => ({
    schema: { tags, summary, description, ...schema },
    config: { errors, passedOn },
  })
}

/** The response of a route that returns nothing. */
export const NO_CONTENT = { 204: Type.Null() }

/** `My Server (v2)` becomes `my-server-v2`. Empty if the name has no letter or digit that is valid in an id. */
export function slugOf(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, 64)
    .replace(/[-.]+$/, '')
}
