import { AppError } from '../../../kernel/errors.ts'
import { isObject } from '../../../kernel/json/json-checks.ts'
import { isBlockedHost } from '../../../net/blocked-address.ts'
import { objectOf, objectsIn, own, type Raw, textOf } from '../foreign-json.ts'
import { parseSpec, type Spec } from '../package-spec.ts'

/** The request that registers the server. `package` is for `POST /api/packages/install-npm`, to install it first. */
export type CreateBody =
  | {
      readonly to: '/api/servers'
      readonly body: {
        readonly name: string
        readonly command: 'npx'
        readonly args: readonly string[]
        readonly env: Readonly<Record<string, string>>
      }
      readonly package: { readonly name: string; readonly version: string }
    }
  | {
      readonly to: '/api/http-servers'
      readonly body: {
        readonly name: string
        readonly url: string
        readonly transport: 'streamable_http' | 'sse'
        readonly headers: Readonly<Record<string, string>>
      }
    }

interface Creation {
  readonly create: CreateBody | null
  readonly reason: string | null
  readonly required_env: Required[]
  readonly required_headers: Required[]
  readonly required_args: Required[]
  /** The npm package that it would run. */
  readonly npmName: string | null
}

const MAX_ENTRIES = 20
const NPM_REGISTRY = /^https?:\/\/registry\.npmjs\.org\/?$/
/** The names that the two routes accept. */
const ENV_NAME = /^(?!toolroom_)[A-Za-z_][A-Za-z0-9_.-]{0,255}$/i
const HEADER_NAME =
  /^(?!(?:host|content-length|transfer-encoding|connection|upgrade|te|trailer|expect|keep-alive)$)[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$/i
const TRANSPORTS = new Map([['streamable-http', 'streamable_http'] as const, ['sse', 'sse'] as const])

/** The first usable entry: an npm package, then a URL. */
export function creationOf(server: Raw, registryName: string): Creation {
  const name = serverName(registryName)
  const entries = [
    ...objectsIn(server.packages, MAX_ENTRIES).map((one) => fromPackage(one, name)),
    ...objectsIn(server.remotes, MAX_ENTRIES).map((one) => fromRemote(one, name)),
  ]
  return (
    entries.find(({ create }) => create !== null) ??
    entries[0] ??
    unusable('It names neither a package nor a URL')
  )
}

function fromPackage(raw: Raw, name: string): Creation {
  const type = textOf(raw.registryType ?? raw.registry_type ?? raw.registry_name, 40) ?? 'unknown'
  if (type !== 'npm')
    return unusable(`It is a package of type '${type}', and Toolroom installs only npm packages`)
  const from = textOf(raw.registryBaseUrl ?? raw.registry_base_url)
  if (from !== null && !NPM_REGISTRY.test(from)) return unusable('Its package is not in the npm registry')
  const transport = textOf(objectOf(raw.transport).type, 40) ?? 'stdio'
  if (transport !== 'stdio')
    return unusable('Its package is an HTTP server: start it yourself and add it by its URL')
  const spec = specOf(raw)
  if (!spec) return unusable('Its package has a name or version that is not valid for npm')
  const runtime = argumentsOf(raw.runtimeArguments).args.filter((arg) => !/^(?:-y|--yes)$/.test(arg))
  if (runtime.length > 0) return unusable('It needs options for npx itself, which Toolroom does not pass on')
  const env = fieldsOf(raw.environmentVariables, ENV_NAME)
  const args = argumentsOf(raw.packageArguments)
  return {
    create: {
      to: '/api/servers',
      body: {
        name,
        command: 'npx',
        args: ['-y', `${spec.name}@${spec.requested}`, ...args.args],
        env: env.values,
      },
      package: { name: spec.name, version: spec.requested },
    },
    reason: null,
    required_env: env.required,
    required_headers: [],
    required_args: args.required,
    npmName: spec.name,
  }
}

function specOf({ identifier, version }: Raw): Spec | undefined {
  if (typeof identifier !== 'string') return undefined
  try {
    return parseSpec(identifier, textOf(version) ?? undefined)
  } catch (error) {
    if (error instanceof AppError) return undefined
    throw error
  }
}

function fromRemote(raw: Raw, name: string): Creation {
  const type = textOf(raw.type ?? raw.transport_type, 40) ?? 'unknown'
  const transport = TRANSPORTS.get(type as 'sse')
  if (!transport) return unusable(`Its transport '${type}' is not supported`)
  const { text: url, missing } = fillTemplate(textOf(raw.url) ?? '', objectOf(raw.variables))
  if (missing.length > 0)
    return unusable(`Its URL has parts that only you know: ${missing.join(', ').slice(0, 200)}`)
  if (!isUsableUrl(url)) return unusable('Its URL is not valid, or leads to a blocked address')
  const headers = fieldsOf(raw.headers, HEADER_NAME)
  return {
    create: { to: '/api/http-servers', body: { name, url, transport, headers: headers.values } },
    reason: null,
    required_env: [],
    required_headers: headers.required,
    required_args: [],
    npmName: null,
  }
}

function isUsableUrl(url: string): boolean {
  if (!/^https?:\/\/[^/?#@\s\\]+(?:[/?#]\S*)?$/i.test(url) || !URL.canParse(url)) return false
  return url.length <= 2048 && !isBlockedHost(new URL(url).hostname)
}

/** `io.github.jo/weather` becomes `weather`; a generic name such as `mcp` is preceded by the owner. */
function serverName(registryName: string): string {
  const [owner = '', last = ''] = registryName.split('/')
  const isGeneric = /^(?:mcp|server|mcp-server|api|)$/i.test(last)
  const plain = (isGeneric ? `${owner.split('.').at(-1)} ${last}` : last)
    .replace(/[^\w .-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 64)
    .trim()
  return plain === '' ? 'MCP server' : plain
}

const unusable = (reason: string): Creation => ({
  create: null,
  reason,
  required_env: [],
  required_headers: [],
  required_args: [],
  npmName: null,
})

/** A value of a server.json that the user must fill in. */
export interface Required {
  readonly name: string
  readonly description: string | null
  readonly secret: boolean
}

/** Only names in braces: a value may be JSON. */
const PLACEHOLDER = /\{([A-Za-z_][\w.-]{0,127})\}/g
const MAX_VALUES = 64
const MAX_LENGTH = 4096

/** Environment variables or headers. Values that the user must fill in are empty and listed in `required`. */
function fieldsOf(value: unknown, name: RegExp) {
  const values: Record<string, string> = Object.create(null)
  const required: Required[] = []
  for (const raw of objectsIn(value, MAX_VALUES)) {
    const key = textOf(raw.name, 256)
    if (key === null || !name.test(key) || key === '__proto__') continue
    const given = givenIn(raw)
    if (given === undefined && raw.isRequired !== true && !hasTemplate(raw)) continue
    values[key] = given ?? ''
    if (given === undefined) required.push(requiredOf(raw, key))
  }
  return { values: { ...values }, required }
}

/** The arguments of the program. Values that the user must fill in are written as `<name>`. */
function argumentsOf(value: unknown) {
  const args: string[] = []
  const required: Required[] = []
  for (const raw of objectsIn(value, MAX_VALUES)) {
    const flag = raw.type === 'named' ? textOf(raw.name, 256) : null
    if (raw.type === 'named' && flag === null) continue
    const given = givenIn(raw)
    const label = flag ?? textOf(raw.valueHint, 100) ?? 'value'
    const isNeeded = given === undefined && (raw.isRequired === true || hasTemplate(raw))
    if (isNeeded) required.push(requiredOf(raw, label))
    if (flag !== null && (isNeeded || given !== undefined || raw.isRequired === true)) args.push(flag)
    if (isNeeded) args.push(`<${label.replace(/^-+/, '')}>`)
    else if (given !== undefined && given !== '') args.push(given)
  }
  return { args, required }
}

/** Replaces each `{name}` by the variable's value. Names without a value are in `missing`. */
function fillTemplate(template: string, variables: Raw): { text: string; missing: string[] } {
  const missing: string[] = []
  const text = template.replace(PLACEHOLDER, (whole, name: string) => {
    const variable = own(variables, name)
    const value = isObject(variable) ? plainValue(variable) : undefined
    if (value === undefined) missing.push(name)
    return value ?? whole
  })
  return { text, missing }
}

/** Undefined when the user must fill it in. */
function givenIn(raw: Raw): string | undefined {
  if (!hasTemplate(raw)) return plainValue(raw)
  const { text, missing } = fillTemplate(String(raw.value), objectOf(raw.variables))
  return missing.length > 0 ? undefined : text
}

const hasTemplate = (raw: Raw) => typeof raw.value === 'string' && raw.value.search(PLACEHOLDER) >= 0

function plainValue(raw: Raw): string | undefined {
  const value = raw.value ?? raw.default
  if (typeof value === 'boolean' || typeof value === 'number') return String(value)
  const usable = typeof value === 'string' && value.length <= MAX_LENGTH && !/[\0\r\n]/.test(value)
  return usable ? value : undefined
}

const requiredOf = (raw: Raw, name: string): Required => ({
  name,
  description: textOf(raw.description),
  secret: raw.isSecret === true || Object.values(objectOf(raw.variables)).some(isSecret),
})

const isSecret = (value: unknown) => isObject(value) && value.isSecret === true
