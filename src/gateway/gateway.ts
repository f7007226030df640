import type { RequestListener } from 'node:http'
import type { FactBus } from '../kernel/facts.ts'
import type { Log } from '../kernel/log.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import { AgentCatalogues } from './catalogue/agent-catalogues.ts'
import { createAggregate } from './catalogue/aggregate.ts'
import type { Offers } from './catalogue/offers.ts'
import { createForward } from './endpoint/forward.ts'
import { createMcpEndpoint, isMcpPath } from './endpoint/mcp-endpoint.ts'
import { ModernReplies } from './endpoint/modern-replies.ts'
import { createRequestHandler } from './endpoint/request-handler.ts'
import type { Keys } from './keys/keys.service.ts'
import { ChangeStreams } from './notify/change-streams.ts'
import { startFanout } from './notify/notification-fanout.ts'
import { createSubscriptions } from './notify/subscriptions.ts'
import { type Session, Sessions } from './sessions/sessions.ts'

interface Deps {
  readonly version: string
  readonly upstreams: Upstreams
  readonly offers: Offers
  readonly keys: Pick<Keys, 'owner'>
  readonly facts: FactBus
  readonly log: Log
  /** The header that may carry the key instead of Authorization. */
  readonly headerName: string
  readonly now: () => number
  /** Throws when a tool must not be called. Undefined when all may be. */
  readonly admit: ((serverId: string, tool: string) => void) | undefined
}

export interface Gateway {
  /** Whether a URL is one of the gateway's. */
  readonly takes: (url: string) => boolean
  readonly listener: RequestListener
  close(): void
}

/** The parts of the gateway, connected. */
export function createGateway({ upstreams, offers, facts, log, now, ...deps }: Deps): Gateway {
  const onDropped = ({ agentType: agent_type }: Partial<Session>, messages: number) =>
    log.warn({ agent_type, messages }, 'notifications dropped: the agent reads too slowly')
  const visibleServers = (agentType?: string) => offers.of(undefined, agentType)?.servers ?? []
  const catalogues = new AgentCatalogues(upstreams, visibleServers)
  const subscriptions = createSubscriptions({ upstreams, catalogues, visibleServers })
  const forward = createForward(upstreams)
  const aggregate = createAggregate({ upstreams, catalogues, subscriptions, visibleServers, forward })
  const { version, admit, keys, headerName } = deps
  const handler = createRequestHandler({
    version,
    upstreams,
    offers,
    aggregate,
    subscriptions,
    forward,
    admit,
  })
  const sessions = new Sessions(now, onDropped)
  const changeStreams = new ChangeStreams({ resources: subscriptions.resources, onDropped })
  const modernReplies = new ModernReplies({ now, onDropped: (messages) => onDropped({}, messages) })
  const stopFanout = startFanout({
    facts,
    log,
    offers,
    catalogues,
    subscriptions,
    sessions,
    changeStreams,
    modernReplies,
    isVisible: (place) => handler.hasServer(place),
  })
  const onError = (error: unknown) => log.error({ error }, 'gateway request failed')
  const parts = { handler, subscriptions, sessions, changeStreams, modernReplies }
  return {
    takes: isMcpPath,
    listener: createMcpEndpoint({ ...parts, keys, headerName, onError }),
    close(): void {
      stopFanout()
      changeStreams.close()
      sessions.close()
      modernReplies.close()
    },
  }
}
