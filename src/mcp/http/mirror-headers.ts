import type { Outgoing } from '../dialogue.ts'
import { isObject } from '../message.ts'
import { MODERN_VERSION } from '../modern.ts'
import type { ToolList } from '../tool-list.ts'

/** What a tool wants to see of its arguments in a header: `path` leads through `properties` of its schema. */
interface Mirrored {
  readonly header: string
  readonly path: readonly string[]
}

/** By tool; those that want nothing are not in it. */
export type Mirrors = ReadonlyMap<string, readonly Mirrored[]>

/** The headers in which the modern era repeats what a request says, so that who stands between need not read bodies. */
export function mirrorHeaders({ method = '', params }: Outgoing, mirrors: Mirrors): Record<string, string> {
  const headers: Record<string, string> = { 'mcp-protocol-version': MODERN_VERSION, 'mcp-method': method }
  const given = isObject(params) ? params : {}
  const name = method === 'resources/read' ? given.uri : NAMED.includes(method) ? given.name : undefined
  if (typeof name !== 'string') return headers
  headers['mcp-name'] = headerText(name)
  if (method !== 'tools/call') return headers
  for (const { header, path } of mirrors.get(name) ?? []) {
    const text = primitiveText(path.reduce(memberOf, given.arguments))
    if (text !== undefined) headers[`mcp-param-${header.toLowerCase()}`] = headerText(text)
  }
  return headers
}

/** Which arguments of which tools are repeated. A declaration that the specification does not allow is left out. */
export function mirrorsIn({ tools }: ToolList): Mirrors {
  const found = tools.map(({ name, inputSchema }) => [String(name), declared(inputSchema, [])] as const)
  return new Map(found.filter(([, mirrored]) => mirrored.length > 0))
}

const NAMED = ['tools/call', 'prompts/get']
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/
const MAX_DEPTH = 8
const BASE64_HEAD = '=?base64?'

function declared(schema: unknown, path: readonly string[]): Mirrored[] {
  if (!isObject(schema) || path.length > MAX_DEPTH) return []
  const { type, properties, 'x-mcp-header': header } = schema
  const isIt =
    typeof header === 'string' &&
    TOKEN.test(header) &&
    path.length > 0 &&
    (type === 'string' || type === 'integer' || type === 'boolean')
  const below = isObject(properties) ? Object.entries(properties) : []
  return [
    ...(isIt ? [{ header, path }] : []),
    ...below.flatMap(([key, each]) => declared(each, [...path, key])),
  ]
}

function memberOf(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

function primitiveText(value: unknown): string | undefined {
  if (typeof value === 'string' || typeof value === 'boolean') return String(value)
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : undefined
}

/** As it is where a header can carry it: visible ASCII with spaces inside; otherwise, or if it looks so already, Base64. */
function headerText(text: string): string {
  const plain = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/.test(text) && !text.startsWith(BASE64_HEAD)
  return plain ? text : `${BASE64_HEAD}${Buffer.from(text.toWellFormed(), 'utf8').toString('base64')}?=`
}
