import data from './agents.json' with { type: 'json' }
import type { Agent } from './catalogue.schema.ts'

/** Every agent whose file can be edited. The compiler cannot tell the JSON's words apart; a test holds it to the schema. */
export const AGENTS: readonly Agent[] = data as unknown as readonly Agent[]

const byName = new Map(AGENTS.flatMap((agent) => [agent.type, ...agent.aliases].map((name) => [name, agent])))

/** `windsurf` finds Devin Desktop: people go on using the names they know. */
export function findAgent(typeOrAlias: string): Agent | undefined {
  return byName.get(typeOrAlias.toLowerCase())
}
