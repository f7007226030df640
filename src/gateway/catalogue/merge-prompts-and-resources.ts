import {
  type Definition,
  definitionText,
  type OtherLists,
  renamed,
} from '../../mcp/protocol/listed-definitions.ts'
import { pagesOf } from './app-pages.ts'
import { type Conflict, nameTools } from './tool-names.ts'
import { parseTemplate, type UriTemplate } from './uri-template.ts'
import { isPage, isWrapped, unwrap, wrap } from './wrapped-uri.ts'

/** The lists of one server. */
export interface ServerLists extends OtherLists {
  readonly id: string
  /** They name pages that servers do not have to list as resources. */
  readonly tools: readonly Definition[]
  /** What it offers is found, so that a request gets an error with the reason, but not listed. */
  readonly isStopped?: boolean
}

/** The server of a resource. */
export interface ResourceLocation {
  readonly serverId: string
  /** The server's own URI. */
  readonly uri: string
  /** The agent uses our URI for it. */
  readonly isWrapped: boolean
}

/** The JSON of a list result, for each era. */
export interface ListResult {
  readonly legacy: Buffer
  readonly modern: Buffer
}

/** Prompts, resources and resource templates of several servers. */
export interface MergedCatalogue {
  /** List results, by method. */
  readonly lists: Readonly<Record<string, ListResult>>
  /** Finds held prompts, too, so that the error can explain the approval. */
  readonly prompt: (name: string) => { readonly serverId: string; readonly name: string } | undefined
  /**
   * Finds listed resources, resources with our URI, and resources that match a template. `pageServer`: the server of the
   * page that may have sent the request, which uses the URIs of its server.
   */
  readonly resource: (uri: string, pageServer?: string) => ResourceLocation | undefined
  /** The server of a listed template, and its own form of it. */
  readonly template: (template: string) => { readonly serverId: string; readonly uri: string } | undefined
  readonly conflicts: readonly Conflict[]
}

/** How long agents may cache a list of all servers. Subscribers are notified of changes earlier. */
export const LIST_TTL_MS = 60_000

/** Whether a prompt waits for approval. */
export type IsHeldPrompt = (serverId: string, definition: Definition) => boolean

/** Merges lists in the order of the server ids, so that the result is always the same. */
export function mergeCatalogues(
  servers: readonly ServerLists[],
  isHeldPrompt: IsHeldPrompt = () => false,
): MergedCatalogue {
  const sorted = servers.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const prompts = nameTools(sorted.map(({ id, prompts: all }) => ({ id, tools: all.map(named) })))
  const resources = placeResources(sorted)
  const templates = placeTemplates(sorted)
  const pages = serversOfPages(sorted)
  const ids = new Set(sorted.map(({ id }) => id))
  const stopped = new Set(sorted.filter(({ isStopped }) => isStopped).map(({ id }) => id))
  const promptByName = new Map(prompts.tools.map(({ name, server_id, tool }) => [name, [server_id, tool]]))
  return {
    lists: {
      'prompts/list': listResult(
        'prompts',
        prompts.tools
          .filter(
            ({ server_id, definition }) => !stopped.has(server_id) && !isHeldPrompt(server_id, definition),
          )
          .map(({ name, definition }) => renamed(definition, { name })),
      ),
      'resources/list': listResult('resources', resources.listed),
      'resources/templates/list': listResult('resourceTemplates', templates.listed),
    },
    prompt: (requested) => {
      const [serverId, name] = promptByName.get(requested) ?? []
      return serverId === undefined || name === undefined ? undefined : { serverId, name }
    },
    resource(uri, pageServer) {
      const own = unwrap(uri)
      const hasPage = (serverId: string, page: string) => pages.get(page)?.includes(serverId) === true
      if (own && ids.has(own.serverId)) {
        // `ui://map/x` is the page `ui://x` of `map`, unless `map` itself has only a page `ui://map/x`.
        const isOwnUri = hasPage(own.serverId, uri) && !hasPage(own.serverId, own.uri)
        return isOwnUri
          ? { serverId: own.serverId, uri, isWrapped: false }
          : { serverId: own.serverId, uri: own.uri, isWrapped: true }
      }
      if (own && !isPage(uri)) return undefined
      const page = pageServer !== undefined && hasPage(pageServer, uri) ? pageServer : pages.get(uri)?.[0]
      const serverId = page ?? resources.byUri.get(uri) ?? templates.match(uri)
      return serverId === undefined ? undefined : { serverId, uri, isWrapped: false }
    },
    template: (template) => templates.byTemplate.get(template),
    conflicts: [
      ...prompts.conflicts.map((conflict) => ({ ...conflict, kind: 'prompt' as const })),
      ...templates.conflicts,
    ],
  }
}

const named = (definition: Definition) => ({ name: String(definition.name), definition })

/**
 * When two servers list the same URI, the second one gets our URI. Every page gets it, so that its URI does not depend on
 * other servers: hosts keep it with a conversation.
 */
function placeResources(servers: readonly ServerLists[]) {
  const byUri = new Map<string, string>()
  const listed: Definition[] = []
  for (const { id, resources, isStopped } of servers) {
    for (const resource of resources) {
      const uri = String(resource.uri)
      const isRenamed = byUri.has(uri) || isWrapped(uri) || isPage(uri)
      if (!isRenamed) byUri.set(uri, id)
      if (!isStopped) listed.push(isRenamed ? renamed(resource, { uri: wrap(id, uri) }) : resource)
    }
  }
  return { byUri, listed }
}

/** The servers of each page, by its own URI. */
function serversOfPages(servers: readonly ServerLists[]): ReadonlyMap<string, readonly string[]> {
  const pages = new Map<string, string[]>()
  for (const { id, resources, tools } of servers) {
    const listed = resources.map(({ uri }) => String(uri)).filter(isPage)
    for (const uri of new Set([...listed, ...tools.flatMap(pagesOf)]))
      pages.set(uri, [...(pages.get(uri) ?? []), id])
  }
  return pages
}

/**
 * A template cannot get a URI with our scheme: an expanded template would not be recognized. That of pages gets our URI, in
 * which only the beginning is ours.
 */
function placeTemplates(servers: readonly ServerLists[]) {
  const byTemplate = new Map<string, UriTemplate & { readonly serverId: string; readonly uri: string }>()
  const listed: Definition[] = []
  const conflicts: Conflict[] = []
  for (const { id, resource_templates, isStopped } of servers) {
    for (const definition of resource_templates) {
      const uri = String(definition.uriTemplate)
      const template = isPage(uri) ? wrap(id, uri) : uri
      const reason = conflictOf(template, byTemplate.get(template)?.serverId)
      if (reason !== undefined) {
        conflicts.push({ server_id: id, kind: 'resource_template', name: uri, reason })
        continue
      }
      byTemplate.set(template, { serverId: id, uri, ...(parseTemplate(uri) ?? UNPARSABLE) })
      if (!isStopped)
        listed.push(template === uri ? definition : renamed(definition, { uriTemplate: template }))
    }
  }
  // The template with the longest literal part wins; the sort is stable.
  const bySpecificity = [...byTemplate.values()].sort((a, b) => b.literalLength - a.literalLength)
  const match = (uri: string) => bySpecificity.find(({ matches }) => matches(uri))?.serverId
  return { byTemplate, listed, conflicts, match }
}

/** Listed unchanged, but its expansions cannot be matched. */
const UNPARSABLE: UriTemplate = { literalLength: 0, matches: () => false }

function conflictOf(template: string, holder: string | undefined): string | undefined {
  if (isWrapped(template)) return 'This URI scheme is reserved for Toolroom'
  return holder === undefined ? undefined : `'${holder}' offers the same template`
}

/** Each definition is listed as its server wrote it. */
export function listResult(field: string, items: readonly Definition[]): ListResult {
  const text = `"${field}":[${items.map(definitionText).join()}]`
  return {
    legacy: Buffer.from(`{${text}}`),
    modern: Buffer.from(`{"resultType":"complete",${text},"ttlMs":${LIST_TTL_MS},"cacheScope":"private"}`),
  }
}
