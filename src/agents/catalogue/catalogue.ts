import data from './agents.json' with { type: 'json' }
import type { Agent } from './catalogue.schema.ts'

/** Every supported agent. TypeScript cannot check the JSON against the schema; a test does. */
export const AGENTS: readonly Agent[] = data as unknown as readonly Agent[]

const byName = new Map(AGENTS.flatMap((agent) => [agent.type, ...agent.aliases].map((name) => [name, agent])))

/** `windsurf` finds Devin Desktop, its new name. */
export function findAgent(typeOrAlias: string): Agent | undefined {
  return byName.get(typeOrAlias.toLowerCase())
}
