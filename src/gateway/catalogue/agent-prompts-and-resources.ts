import type { Upstreams } from '../../servers/shared/upstreams.ts'
import { MentionedResources } from './mentioned-resources.ts'
import {
  type IsHeldPrompt,
  type MergedCatalogue,
  mergeCatalogues,
  type ResourceLocation,
} from './merge-prompts-and-resources.ts'
import { isPage, wrap } from './wrapped-uri.ts'

const MAX_CATALOGUES = 100

/** The merged catalogue that each agent sees. Agents that see the same servers share one. */
export class AgentPromptsAndResources {
  readonly #upstreams: Upstreams
  /** The servers that an agent may use. Without an agent, all servers that the gateway offers. */
  readonly visibleServers: (agentType?: string) => readonly string[]
  readonly #isHeldPrompt: IsHeldPrompt | undefined
  readonly #byServers = new Map<string, MergedCatalogue>()
  /** Resources that results have mentioned. */
  readonly owners = new MentionedResources()

  constructor(
    upstreams: Upstreams,
    visibleServers: (agentType?: string) => readonly string[],
    isHeldPrompt?: IsHeldPrompt,
  ) {
    this.#upstreams = upstreams
    this.visibleServers = visibleServers
    this.#isHeldPrompt = isHeldPrompt
  }

  /** Without an agent, the catalogue of all servers that the gateway offers. */
  of(agentType?: string): MergedCatalogue {
    const ids = this.visibleServers(agentType)
    const key = ids.join()
    const cached = this.#byServers.get(key)
    if (cached) return cached
    const catalogues = ids.flatMap((id) => {
      const { catalogue, isStopped = false } = this.#upstreams.get(id) ?? {}
      return catalogue ? [{ ...catalogue, id, isStopped }] : []
    })
    const merged = mergeCatalogues(catalogues, this.#isHeldPrompt)
    if (this.#byServers.size >= MAX_CATALOGUES) this.#byServers.clear()
    this.#byServers.set(key, merged)
    return merged
  }

  /** Call when a list or a server has changed. */
  changed(): void {
    this.#byServers.clear()
  }

  /**
   * Listed resources win over mentioned ones, so that a server cannot take over what another one lists. `pageServer`: the
   * server of the page that the client has read last.
   */
  locate(uri: string, agentType: string, pageServer?: string): ResourceLocation | undefined {
    const listed = this.of(agentType).resource(uri, pageServer)
    if (listed) return listed
    const serverId = this.owners.serverOf(uri)
    const isVisible = serverId !== undefined && this.visibleServers(agentType).includes(serverId)
    return isVisible ? { serverId, uri, isWrapped: false } : undefined
  }

  /** The URI by which an agent can read a resource that this server has mentioned. */
  nameOf(uri: string, serverId: string, agentType: string): string {
    if (isPage(uri)) return wrap(serverId, uri)
    const location = this.locate(uri, agentType)
    const isOwn = location === undefined || (location.serverId === serverId && !location.isWrapped)
    return isOwn ? uri : wrap(serverId, uri)
  }
}
