import { isObject } from '../../../kernel/json/json-checks.ts'
import type { Network } from '../../../net/connection-pool.ts'
import { objectOf, textOf, timeOf } from '../foreign-json.ts'
import { deadlineIn, getJson, notAList, statusError } from './get-registry-json.ts'
import { nearName } from './near-names.ts'
import { repositoryOf } from './packument.ts'
import { type CreateBody, creationOf, type Required } from './registration-from-server-json.ts'
import { type Hit, hitOf } from './search-hit.ts'

/** A server of the MCP Registry as a search result, with the request that registers it. */
export interface McpHit extends Hit {
  readonly source: 'mcp_registry'
  readonly title: string | null
  /** Null when Toolroom cannot run or reach it, for the given `reason`. */
  readonly create: CreateBody | null
  readonly reason: string | null
  /** Values that the user must fill in. */
  readonly required_env: Required[]
  readonly required_headers: Required[]
  readonly required_args: Required[]
}

export interface McpSearchInput {
  /** A part of the name. */
  readonly query: string
  /** 20 by default, at most 50. */
  readonly size?: number | undefined
  readonly cursor?: string | undefined
}

export interface McpSearchResult {
  readonly items: McpHit[]
  readonly next_cursor: string | null
}

interface Options {
  readonly now: number
  readonly signal?: AbortSignal
  readonly deadlineMs?: number
  readonly network?: Partial<Network> | undefined
}

const DEADLINE_MS = 15_000
const DEFAULT_SIZE = 20
const MAX_SIZE = 50
const OFFICIAL = 'io.modelcontextprotocol.registry/official'

/** `GET <base>/v0.1/servers` of the official MCP Registry, or of one with the same API. */
export async function searchMcpRegistry(
  base: string,
  { query, size = DEFAULT_SIZE, cursor }: McpSearchInput,
  { now, signal, deadlineMs = DEADLINE_MS, network }: Options,
): Promise<McpSearchResult> {
  const url = new URL('v0.1/servers', base.replace(/\/*$/, '/'))
  url.search = new URLSearchParams({
    ...(query.trim() !== '' && { search: query.trim() }),
    limit: String(Math.min(MAX_SIZE, Math.max(1, Math.trunc(size)))),
    version: 'latest',
    ...(cursor !== undefined && { cursor }),
  }).toString()
  const { status, json, host } = await getJson(url, {
    accept: 'application/json',
    authorizationFor: () => undefined, // npm's logins are for npm registries
    deadline: deadlineIn(deadlineMs, signal),
    network,
  })
  if (status !== 200) throw statusError(status, host)
  if (!isObject(json) || !(json.servers === null || Array.isArray(json.servers))) throw notAList(host)
  const items = (json.servers ?? []).flatMap((one: unknown) => hitIn(one, now) ?? [])
  return { items, next_cursor: textOf(objectOf(json.metadata).nextCursor) }
}

/** Undefined for a server that was deleted, has no name, or is an older version. */
function hitIn(raw: unknown, now: number): McpHit | undefined {
  const server = objectOf(objectOf(raw).server)
  const official = objectOf(objectOf(objectOf(raw)._meta)[OFFICIAL])
  const name = textOf(server.name, 200)
  if (name === null || official.status === 'deleted' || official.isLatest === false) return undefined
  const { npmName, ...creation } = creationOf(server, name)
  const found = {
    name,
    version: textOf(server.version, 128),
    description: textOf(server.description),
    keywords: [],
    publishedAt: timeOf(official.updatedAt) ?? timeOf(official.publishedAt),
    createdAt: timeOf(official.publishedAt),
    publisher: name.includes('/') ? (name.split('/')[0] ?? null) : null, // the registry verifies the owner of a namespace
    maintainers: null,
    attested: null,
    hasInstallScript: null,
    deprecated: deprecationOf(official),
    license: null,
    repository: repositoryOf(server.repository),
    downloadsWeekly: null,
  }
  const near = npmName === null ? undefined : nearName({ name: npmName, downloads: null })
  return {
    ...hitOf(found, near, now),
    source: 'mcp_registry',
    title: textOf(server.title, 200),
    ...creation,
  }
}

function deprecationOf({ status, statusMessage }: Readonly<Record<string, unknown>>): string | false | null {
  if (status === 'deprecated') return textOf(statusMessage) ?? 'no reason given'
  return status === 'active' ? false : null
}
