import { AppError } from '../../kernel/errors.ts'
import { isBlockedHost } from '../../net/blocked-address.ts'
import { parseSpec, type Spec } from '../spec.ts'
import { argumentsOf, fieldsOf, filled, type Inputs, inputsOf, type Required } from './inputs.ts'
import { isObject, objectOf, textOf } from './packument.ts'

export type { Required } from './inputs.ts'

/** What to send, and where to. `package` is what `POST /api/packages/install-npm` takes, for whoever installs it first. */
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
  readonly required_env: readonly Required[]
  readonly required_headers: readonly Required[]
  readonly required_args: readonly Required[]
  /** The npm package it would run. */
  readonly npmName: string | null
}

type Raw = Readonly<Record<string, unknown>>
const NPM_REGISTRY = /^https?:\/\/registry\.npmjs\.org\/?$/
/** As the rooms that receive the body want them. */
const ENV_NAME = /^(?!toolroom_)[A-Za-z_][A-Za-z0-9_.-]{0,255}$/i
const HEADER_NAME =
  /^(?!(?:host|content-length|transfer-encoding|connection|upgrade|te|trailer|expect|keep-alive)$)[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$/i
const TRANSPORTS = new Map([['streamable-http', 'streamable_http'] as const, ['sse', 'sse'] as const])

/** The first way that works: a program from npm, then a server elsewhere. */
export function creationOf(server: Raw, registryName: string): Creation {
  const name = serverName(registryName)
  const packages = listOf(server.packages).map((one) => fromPackage(one, name))
  const remotes = listOf(server.remotes).map((one) => fromRemote(one, name))
  const ways = [...packages, ...remotes]
  return (
    ways.find(({ create }) => create !== null) ?? ways[0] ?? no('It names neither a package nor an address')
  )
}

function fromPackage(raw: Raw, name: string): Creation {
  const type = textOf(raw.registryType ?? raw.registry_type ?? raw.registry_name, 40) ?? 'unknown'
  if (type !== 'npm') return no(`It is a package of the kind '${type}', and Toolroom installs those of npm`)
  const from = textOf(raw.registryBaseUrl ?? raw.registry_base_url)
  if (from !== null && !NPM_REGISTRY.test(from))
    return no('Its package lies in another registry than that of npm')
  const transport = textOf(objectOf(raw.transport).type, 40) ?? 'stdio'
  if (transport !== 'stdio')
    return no('Its package is a server that you start yourself, and add by its address')
  const spec = specOf(raw)
  if (!spec) return no('Its package has a name or version that npm does not know')
  const runtime = argumentsOf(raw.runtimeArguments).args.filter((arg) => !/^(?:-y|--yes)$/.test(arg))
  if (runtime.length > 0) return no('It wants options for npx itself, which Toolroom does not pass on')
  const env = fieldsOf(raw.environmentVariables, ENV_NAME)
  const args = argumentsOf(raw.packageArguments)
  return {
    create: {
      to: '/api/servers',
      body: {
        name,
        command: 'npx',
        args: ['-y', `${spec.name}@${spec.wanted}`, ...args.args],
        env: env.values,
      },
      package: { name: spec.name, version: spec.wanted },
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
  if (!transport) return no(`It is reached by '${type}', which Toolroom does not speak`)
  const variables: Inputs = inputsOf(raw.variables)
  const { text: url, missing } = filled(textOf(raw.url) ?? '', variables)
  if (missing.length > 0)
    return no(`Its address has parts that only you know: ${missing.join(', ').slice(0, 200)}`)
  if (!isAddress(url)) return no('Its address is not one that Toolroom asks')
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

function isAddress(url: string): boolean {
  if (!/^https?:\/\/[^/?#@\s\\]+(?:[/?#]\S*)?$/i.test(url) || !URL.canParse(url)) return false
  return url.length <= 2048 && !isBlockedHost(new URL(url).hostname)
}

/** `io.github.jo/weather` becomes `weather`, and a name that says nothing takes the owner along. */
function serverName(registryName: string): string {
  const [owner = '', last = ''] = registryName.split('/')
  const says = /^(?:mcp|server|mcp-server|api|)$/i.test(last) ? `${owner.split('.').at(-1)} ${last}` : last
  const plain = says
    .replace(/[^\w .-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 64)
    .trim()
  return plain === '' ? 'MCP server' : plain
}

const listOf = (value: unknown): Raw[] => (Array.isArray(value) ? value.slice(0, 20).filter(isObject) : [])

const no = (reason: string): Creation => ({
  create: null,
  reason,
  required_env: [],
  required_headers: [],
  required_args: [],
  npmName: null,
})
