import { isObject } from '../../../kernel/is-object.ts'
import type { Outgoing } from '../../client/json-rpc-peer.ts'
import type { ToolList } from '../../client/tool-list.ts'
import { headerText, nameParamOf } from '../../protocol/header-text.ts'
import { MODERN_VERSION } from '../../protocol/versions.ts'
import { type MirroredArgument, mirroredArguments } from '../../protocol/x-mcp-header.ts'

/** The mirrored arguments of each tool that has any. */
export type Mirrors = ReadonlyMap<string, readonly MirroredArgument[]>

/** The headers in which the modern era repeats parts of a request, so that proxies need not read bodies. */
export function mirroredHeaders({ method = '', params }: Outgoing, mirrors: Mirrors): Record<string, string> {
  const headers: Record<string, string> = { 'mcp-protocol-version': MODERN_VERSION, 'mcp-method': method }
  const given = isObject(params) ? params : {}
  const name = given[nameParamOf(method) ?? '']
  if (typeof name !== 'string') return headers
  headers['mcp-name'] = headerText(name)
  if (method !== 'tools/call') return headers
  for (const { header, path } of mirrors.get(name) ?? []) {
    const text = primitiveText(path.reduce(memberOf, given.arguments))
    if (text !== undefined) headers[`mcp-param-${header.toLowerCase()}`] = headerText(text)
  }
  return headers
}

/** The arguments that a tool list declares as mirrored. Invalid declarations are ignored. */
export function mirrorsIn({ tools }: ToolList): Mirrors {
  const found = tools.map(({ name, inputSchema }) => [String(name), mirroredArguments(inputSchema)] as const)
  return new Map(found.filter(([, mirrored]) => mirrored.length > 0))
}

function memberOf(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

function primitiveText(value: unknown): string | undefined {
  if (typeof value === 'string' || typeof value === 'boolean') return String(value)
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : undefined
}
