import { isObject } from '../../../kernel/json/json-checks.ts'
import { inputDefaults } from '../../translate/forwarded-variables.ts'
import { Fault } from './snippet-error.ts'
import { readJson } from './snippet-json-toml.ts'

/** A server found in a snippet, before its fields are read. */
export interface Named {
  /** Undefined if the snippet has none. */
  readonly name: string | undefined
  readonly value: unknown
  readonly notes?: readonly string[]
  /** The defaults of inputs in the same configuration, by id. */
  readonly inputs?: ReadonlyMap<string, string>
  /** The reason, if it is already known that this one cannot be imported. */
  readonly refuse?: string
}

export type Fields = Readonly<Record<string, unknown>>

/** The keys under which agents keep their servers. `mcp` is handled separately, because it has two layouts. */
const WRAPPERS = [
  'mcpServers',
  'mcp_servers',
  'mcp-servers',
  'servers',
  'context_servers',
  'amp.mcpServers',
  'mcp.servers',
]
const ENTRY_KEYS = ['type', 'transport', 'args', 'env', 'environment', 'headers', 'http_headers']
/** A URL without user info and white space. The API checks it again. */
export const HTTP_URL = /^https?:\/\/[^/?#@\s]+(?:[/?#]\S*)?$/
const URL_KEYS = ['httpUrl', 'serverUrl', 'url', 'uri', 'baseUrl']

/** The servers in a parsed configuration: below a known key, in a plain map, or the value itself. */
export function findServers(root: unknown): Named[] {
  const inputs = isFields(root) ? inputDefaults(field(root, 'inputs')) : undefined
  const found = serversIn(root)
  return inputs && inputs.size > 0 ? found.map((named) => ({ ...named, inputs })) : found
}

function serversIn(root: unknown): Named[] {
  if (Array.isArray(root)) return root.filter(isNamedEntry).map(fromList)
  if (!isFields(root)) return []
  if (isEntry(root)) return [{ name: nameIn(root), value: root }]
  const wrapped = belowWrappers(root)
  const below = belowMcp(root)
  if (wrapped !== undefined || below !== undefined) return [...(wrapped ?? []), ...(below ?? [])]
  return isBareMap(root) ? amongOthers(root) : []
}

/** Undefined if there is no such key, so that a server in a plain map may be called `servers` or `mcp`. */
function belowWrappers(root: Fields): Named[] | undefined {
  const found: Named[] = []
  let any = false
  for (const key of WRAPPERS) {
    const value = field(root, key)
    if (Array.isArray(value)) for (const item of value.filter(isNamedEntry)) found.push(fromList(item))
    else if (isFields(value) && !isEntry(value)) for (const named of fromMap(value)) found.push(named)
    else continue
    any = true
  }
  return any ? found : undefined
}

/** VS Code uses mcp.servers.name, OpenCode uses mcp.name. Both may contain other settings too. */
function belowMcp(root: Fields): Named[] | undefined {
  const mcp = field(root, 'mcp')
  if (!isFields(mcp) || isEntry(mcp)) return undefined
  const direct = Object.entries(mcp).filter(([key, value]) => isEntry(value) || !WRAPPERS.includes(key))
  return [...(belowWrappers(mcp) ?? []), ...amongOthers(Object.fromEntries(direct))]
}

/** Below `mcpServers`, everything except comments is a server. */
function fromMap(map: Fields): Named[] {
  return Object.entries(map)
    .filter(([name, value]) => !(typeof value === 'string' && /^(?:\/\/|[_$])/.test(name)))
    .map(([name, value]) => ({ name, value }))
}

/** Elsewhere, a key may be another setting. A key beside a server that resembles one is kept, to report why it is not. */
function amongOthers(map: Fields): Named[] {
  if (!Object.values(map).some(isEntry)) return []
  return fromMap(map).filter(({ value }) => isEntry(value) || resemblesEntry(value))
}

function fromList(value: Fields): Named {
  return { name: nameIn(value), value }
}

function isBareMap(map: Fields): boolean {
  return Object.entries(map).every(
    ([key, value]) => isFields(value) || key.startsWith('$') || key === 'inputs',
  )
}

function resemblesEntry(value: unknown): boolean {
  return isFields(value) && ENTRY_KEYS.some((key) => field(value, key) !== undefined)
}

/** A list under `servers` may belong to an OpenAPI document, whose items have no name. */
function isNamedEntry(value: unknown): value is Fields {
  return isEntry(value) && (nameIn(value) !== undefined || commandIn(value) !== undefined)
}

function isEntry(value: unknown): value is Fields {
  if (!isFields(value)) return false
  if (commandIn(value) !== undefined || urlIn(value) !== undefined) return true
  const nested = field(value, 'transport') // Cline nests all fields there
  return isFields(nested) && (commandIn(nested) !== undefined || urlIn(nested) !== undefined)
}

function commandIn(value: Fields): unknown {
  const command = field(value, 'command') ?? field(value, 'cmd')
  if (typeof command === 'string' || Array.isArray(command)) return command
  return isFields(command) && typeof field(command, 'path') === 'string' ? command : undefined
}

/** The first field with a URL. In Gemini, httpUrl has precedence over url. */
export function urlIn(value: Fields): { readonly key: string; readonly url: string } | undefined {
  for (const key of URL_KEYS) {
    const url = field(value, key)
    if (typeof url === 'string') return { key, url }
  }
  return undefined
}

function nameIn(value: Fields): string | undefined {
  const name = field(value, 'name')
  return typeof name === 'string' && name.trim() !== '' ? name : undefined
}

export function isFields(value: unknown): value is Fields {
  return isObject(value) && !(value instanceof Date) // TOML has dates
}

/** Own fields only: a server may be called `toString`, and a field must not come from a prototype. */
export function field(fields: Fields, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined
}

const VSCODE = /^vscode(?:-insiders)?:(?:\/\/)?mcp\/install\?(.+)$/s
const WITH_QUERY =
  /^(?:cursor:\/\/anysphere\.cursor-deeplink\/mcp\/install|https:\/\/(?:www\.)?cursor\.com\/(?:[a-z-]+\/)?(?:install-mcp|link\/mcp\/install)|https:\/\/(?:insiders\.)?vscode\.dev\/redirect(?:\/mcp\/install)?)\?(.+)$/s

/** The "Install in …" links in READMEs contain the whole entry. Undefined for any other text. */
export function readLink(link: string): Named[] | undefined {
  const vscode = VSCODE.exec(link)?.[1]
  if (vscode !== undefined) return fromConfig(undefined, percentDecoded(vscode))
  const query = WITH_QUERY.exec(link)?.[1]
  if (query === undefined) return undefined
  const parameters = new URLSearchParams(query)
  const inner = parameters.get('url')
  if (inner !== null) return VSCODE.test(inner) ? readLink(inner) : []
  return fromConfig(parameters.get('name') ?? undefined, parameters.get('config') ?? '')
}

function fromConfig(name: string | undefined, config: string): Named[] {
  // URLSearchParams decodes the plus of base64 as a space.
  const json = /^\s*\{/.test(config) ? config : Buffer.from(config.replaceAll(' ', '+'), 'base64').toString()
  return fromJson(name, json, 'Cannot parse the configuration in the link; copy it from the README instead')
}

/** JSON inside a link or an argument. `refuse` is the reason to report if it cannot be parsed. */
export function fromJson(name: string | undefined, json: string, refuse: string): Named[] {
  try {
    const { value } = readJson(json, 0)
    return isEntry(value) && name !== undefined ? [{ name, value }] : findServers(value)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return [{ name, value: undefined, refuse }] // without line and column, which refer to the decoded text
  }
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // a browser may have decoded it already
  }
}
