import { memo } from '../../kernel/memo.ts'
import { isoTime } from '../../kernel/time.ts'
import type { AgentSummary, EntryView, Visible } from '../agents.schema.ts'
import type { Definition } from '../catalogue/definition.ts'
import { readGatewayEntry } from '../edit/gateway-entry.ts'
import type { KnownFile } from './agent-view.ts'

/** What the grid shows of the gateway. */
export interface GatewayView {
  /** The same object until it changes. */
  readonly visibleTo: (agentType: string) => Visible
  /** The servers that were chosen for the agent, or null for all. The same list until it changes. */
  readonly chosenFor: (agentType: string) => readonly string[] | null
  /** When a key of each agent was last used. */
  readonly lastSeen: () => ReadonlyMap<string, number>
}

export function gridFields(
  files: readonly KnownFile[],
  entries: readonly EntryView[],
  visible: Visible,
  chosen: readonly string[] | null,
  seenAt: number | undefined,
): Required<Pick<AgentSummary, 'visible' | 'gateway_servers' | 'connected_via' | 'last_seen_at'>> {
  return {
    visible,
    gateway_servers: chosen && [...chosen],
    connected_via: leadsToGateway(files) ? 'gateway' : entries.some(isLinked) ? 'direct' : null,
    last_seen_at: seenAt === undefined ? null : isoTime(seenAt),
  }
}

const leadsToGateway = (files: readonly KnownFile[]): boolean =>
  files.some(({ state }) =>
    state.entries.some(({ definition, enabled }) => enabled !== false && definition && isGateway(definition)),
  )

const isGateway = memo((definition: Definition): boolean => readGatewayEntry(definition) !== undefined)

const isLinked = ({ linked_server_id, enabled, parked }: EntryView): boolean =>
  linked_server_id !== null && enabled !== false && !parked
