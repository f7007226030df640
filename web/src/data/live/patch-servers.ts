import type { StdioServer } from '../api.ts'
import { queryClient } from '../query-client.ts'
import type { ResourcesChange, StatusChange } from './live-messages.ts'

/** Applies small changes to the list of servers at once; the complete answer follows with the next refresh. */

interface List {
  readonly items: readonly StdioServer[]
}
const LIST = ['servers', 'stdio']
const BATCH_MS = 500

/** Whether it works is in the complete answer. Until then a server that moves says so. */
export function patchStatus({ server_id, status: next }: StatusChange): void {
  const status = next as StdioServer['status']
  const isMoving = status === 'starting' || status === 'stopping'
  const moving = isMoving ? ({ level: 'unknown', state: status, works: null } as const) : {}
  patch((server) =>
    server.id === server_id ? { ...server, status, health: { ...server.health, ...moving } } : server,
  )
}

let waiting = new Map<string, ResourcesChange>()

/** Each running server reports every 2 s, so the reports of half a second are applied together. */
export function patchResources(change: ResourcesChange): void {
  const isFirst = waiting.size === 0
  waiting.set(change.server_id, change)
  if (!isFirst) return
  setTimeout(() => {
    const changes = waiting
    waiting = new Map()
    patch((server) => {
      const found = changes.get(server.id)
      if (!found) return server
      const { cpu_pct, rss_bytes, processes } = found
      return { ...server, resources: { cpu_pct, rss_bytes, processes } }
    })
  }, BATCH_MS)
}

function patch(change: (server: StdioServer) => StdioServer): void {
  queryClient.setQueryData<List>(LIST, (list) => list && { ...list, items: list.items.map(change) })
}
