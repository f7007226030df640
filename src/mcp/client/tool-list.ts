import type { Definition } from '../protocol/lists.ts'
import type { Requester } from './json-rpc-peer.ts'
import { fetchPages, type Pages } from './paginated-list.ts'

export interface ToolList extends Omit<Pages, 'items'> {
  /** As the server sent them, unknown fields included. Names are unique. */
  readonly tools: readonly Definition[]
}

export const NO_TOOLS: ToolList = { tools: [], truncated: false, duplicates: 0 }

const TOOLS = { method: 'tools/list', field: 'tools', key: 'name' }

export async function listTools(
  requester: Pick<Requester, 'requestRaw'>,
  timeoutMs: number,
): Promise<ToolList> {
  const { items, ...rest } = await fetchPages(requester, TOOLS, timeoutMs)
  return { tools: items, ...rest }
}
