import { CallFailure } from '../../protocol/call.ts'
import type { Definition } from '../../upstreams/catalogues.ts'
import type { Asker } from './modern-requests.ts'
import { drain } from './paginated-list.ts'

export interface ToolList {
  /** As the server sent them, unknown fields included. No name comes twice. */
  readonly tools: readonly Definition[]
  /** There were more tools or pages than we take. */
  readonly truncated: boolean
  /** Tools that were left out because an earlier one has their name. */
  readonly duplicates: number
}

export const NO_TOOLS: ToolList = { tools: [], truncated: false, duplicates: 0 }

const METHOD_NOT_FOUND = -32_601
const QUESTION = { method: 'tools/list', field: 'tools', key: 'name' }

/** Every page of the list, within one deadline. */
export async function listTools(asker: Pick<Asker, 'request'>, timeoutMs: number): Promise<ToolList> {
  const { items, ...rest } = await drain(asker, QUESTION, timeoutMs)
  return { tools: items, ...rest }
}

/** Servers exist that declare tools and do not know the question. */
export function isUnknownMethod(error: unknown): boolean {
  return error instanceof CallFailure && error.remote?.code === METHOD_NOT_FOUND
}
