import { homedir } from 'node:os'
import type { Config } from '../../kernel/config/config.ts'
import { configOfStart, recordedStart } from '../../kernel/config/recorded-start.ts'
import { isStartError } from '../../kernel/exit-codes.ts'
import type { Api, Schemas } from '../run/service-client.ts'

type Summary = Pick<Schemas['AgentSummary'], 'name' | 'connected_via' | 'starts_toolroom'>

/** The connected agents: those that start the service with a call, and those that have no tools without it. */
export function connectedAgents<A extends Summary>(
  agents: readonly A[],
  config: Pick<Config, 'folders'>,
  mainFile: string,
): { readonly starting: A[]; readonly cutOff: A[] } {
  const connected = agents.filter(({ connected_via }) => connected_via === 'gateway')
  const isAllowed = connected.length > 0 && mayBeStartedByAgents(config, mainFile)
  const isStarting = (agent: A) => isAllowed && agent.starts_toolroom === true
  return { starting: connected.filter(isStarting), cutOff: connected.filter((agent) => !isStarting(agent)) }
}

/** Whether the bridge of an agent may start the service of this data folder. */
function mayBeStartedByAgents({ folders }: Pick<Config, 'folders'>, mainFile: string): boolean {
  const recorded = recordedStart(folders.data)
  try {
    return recorded !== undefined && configOfStart(recorded, mainFile, homedir()).agents_start_service
  } catch (error) {
    if (!isStartError(error)) throw error
    return false // a setting is invalid, so it does not start
  }
}

export const agentsWithGateway = async (api: Api): Promise<Schemas['AgentSummary'][]> =>
  (await api.get('/api/agents', { query: { include: 'tools' } })).items

/** `Cursor`, `Cursor and Zed`, `Cursor, Zed and Amp` */
export const namesOf = (agents: readonly Summary[]): string =>
  agents
    .map(({ name }) => name)
    .join(', ')
    .replace(/, (?=[^,]*$)/, ' and ')
