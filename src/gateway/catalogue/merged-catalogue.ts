import type { Definition, OtherLists } from '../../upstreams/catalogues.ts'
import { gather } from './tool-names.ts'
import { readTemplate, type UriTemplate } from './uri-template.ts'
import { isWrapped, unwrap, wrap } from './wrapped-uri.ts'

/** What a server offers besides tools, as it said it itself. */
export interface Stock extends OtherLists {
  readonly id: string
}

/** Where a resource is. */
export interface Place {
  readonly serverId: string
  /** As its server knows it. */
  readonly uri: string
  /** The agent knows it by another name. */
  readonly isWrapped: boolean
}

/** What could not be let in beside what was there. */
export interface LeftOut {
  readonly server_id: string
  readonly kind: 'prompt' | 'resource_template'
  readonly name: string
  readonly reason: string
}

interface Body {
  readonly legacy: Buffer
  readonly modern: Buffer
}

/** Prompts, resources and templates of several servers, side by side. */
export interface Shelf {
  readonly lists: Readonly<Record<string, Body>>
  readonly prompt: (name: string) => { readonly serverId: string; readonly name: string } | undefined
  /** What is listed, what we have named ourselves, or what a template can make. */
  readonly resource: (uri: string) => Place | undefined
  readonly template: (template: string) => string | undefined
  readonly leftOut: readonly LeftOut[]
}

/** Agents may keep a list so long; a change is told to those who listen. */
const TTL_MS = 60_000

/** By the ids of the servers, then as each of them lists it: the same every time. */
export function stack(stocks: readonly Stock[]): Shelf {
  const sorted = [...stocks].sort((a, b) => (a.id < b.id ? -1 : 1))
  const prompts = gather(sorted.map(({ id, prompts: all }) => ({ id, tools: all.map(named) })))
  const resources = placeResources(sorted)
  const templates = placeTemplates(sorted)
  const ids = new Set(sorted.map(({ id }) => id))
  const promptByName = new Map(prompts.tools.map(({ name, server_id, tool }) => [name, [server_id, tool]]))
  return {
    lists: {
      'prompts/list': bodyOf(
        'prompts',
        prompts.tools.map(({ name, definition }) => ({ ...definition, name })),
      ),
      'resources/list': bodyOf('resources', resources.listed),
      'resources/templates/list': bodyOf('resourceTemplates', templates.listed),
    },
    prompt: (asked) => {
      const [serverId, name] = promptByName.get(asked) ?? []
      return serverId === undefined || name === undefined ? undefined : { serverId, name }
    },
    resource(uri) {
      const own = unwrap(uri)
      if (own) return ids.has(own.serverId) ? { ...own, isWrapped: true } : undefined
      const serverId = resources.byUri.get(uri) ?? templates.match(uri)
      return serverId === undefined ? undefined : { serverId, uri, isWrapped: false }
    },
    template: (template) => templates.byTemplate.get(template)?.serverId,
    leftOut: [
      ...prompts.refused.map(({ server_id, tool, reason }) => {
        return { server_id, kind: 'prompt' as const, name: tool, reason }
      }),
      ...templates.leftOut,
    ],
  }
}

const named = (definition: Definition) => ({ name: String(definition.name), definition })

/** Of two with the same URI the first keeps it. */
function placeResources(stocks: readonly Stock[]) {
  const byUri = new Map<string, string>()
  const listed: Definition[] = []
  for (const { id, resources } of stocks) {
    for (const resource of resources) {
      const uri = String(resource.uri)
      if (byUri.has(uri) || isWrapped(uri)) {
        listed.push({ ...resource, uri: wrap(id, uri) })
        continue
      }
      byUri.set(uri, id)
      listed.push(resource)
    }
  }
  return { byUri, listed }
}

interface Matcher extends UriTemplate {
  readonly serverId: string
}

/** A template cannot be wrapped: what an agent makes of it would not be one of ours. */
function placeTemplates(stocks: readonly Stock[]) {
  const byTemplate = new Map<string, Matcher>()
  const listed: Definition[] = []
  const leftOut: LeftOut[] = []
  for (const { id, resource_templates } of stocks) {
    for (const definition of resource_templates) {
      const template = String(definition.uriTemplate)
      const reason = whyNot(template, byTemplate.get(template)?.serverId)
      if (reason !== undefined) {
        leftOut.push({ server_id: id, kind: 'resource_template', name: template, reason })
        continue
      }
      byTemplate.set(template, { serverId: id, ...(readTemplate(template) ?? UNREADABLE) })
      listed.push(definition)
    }
  }
  // The one that says most of the URI itself is meant; the sort keeps the order of the others.
  const bySay = [...byTemplate.values()].sort((a, b) => b.literal - a.literal)
  const match = (uri: string) => bySay.find(({ matches }) => matches(uri))?.serverId
  return { byTemplate, listed, leftOut, match }
}

/** It is listed as it came, and makes nothing that we could find again. */
const UNREADABLE: UriTemplate = { literal: 0, matches: () => false }

function whyNot(template: string, holder: string | undefined): string | undefined {
  if (isWrapped(template)) return 'Only Toolroom itself names resources so'
  return holder === undefined ? undefined : `'${holder}' has the same template at the gateway`
}

function bodyOf(field: string, items: readonly Definition[]): Body {
  const text = `"${field}":${JSON.stringify(items)}`
  return {
    legacy: Buffer.from(`{${text}}`),
    modern: Buffer.from(`{"resultType":"complete",${text},"ttlMs":${TTL_MS},"cacheScope":"private"}`),
  }
}
