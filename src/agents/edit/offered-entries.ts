import { fileAt, PROJECT } from '../catalogue/config-places.ts'
import type { Definition, RegisteredServer } from '../catalogue/definition.ts'
import type { ConfigTarget } from '../files/config-target.ts'
import { isMap, valueAt } from '../formats/json-value.ts'
import { type Entry, entriesUnder } from '../read/read-entries.ts'
import { registeredAs } from '../read/server-identity.ts'
import type { CurrentConfig } from './change-plan.ts'
import { GATEWAY_ENTRY } from './gateway-entry.ts'

/** An entry of the agent's own whose server it reaches through the gateway, too. */
export interface OfferedEntry {
  readonly entry: Entry
  readonly scope: string
  readonly server_id: string
  /** As the server names them; empty if they are not known yet. */
  readonly tools: readonly string[]
}

/** The tools that the gateway offers to an agent, by server. */
export type OfferedTools = ReadonlyMap<string, readonly string[]>

/** Entries that the agent has disabled are left out, because it does not use them. */
export function offeredEntries(
  target: ConfigTarget,
  current: CurrentConfig,
  registered: readonly RegisteredServer[],
  offered: OfferedTools,
): OfferedEntry[] {
  const { scope } = target.place
  const own = current.entries.map((entry) => ({ entry, scope, project: null }))
  return [...own, ...projectEntries(target, current)].flatMap(({ entry, scope: its, project }) => {
    const { name, definition, enabled } = entry
    if (enabled === false || (its === scope && name === GATEWAY_ENTRY)) return []
    const owned = its === scope && Object.hasOwn(current.owned, name) ? current.owned[name] : undefined
    const id = owned?.server_id ?? serverOf(definition, registered, project)
    const tools = id === undefined ? undefined : offered.get(id)
    return id === undefined || !tools ? [] : [{ entry, scope: its, server_id: id, tools }]
  })
}

/** A server that works in the folder of another project is another one. */
function serverOf(
  definition: Definition | null,
  registered: readonly RegisteredServer[],
  project: string | null,
): string | undefined {
  if (project === null) return registeredAs(definition, registered)?.id
  const found = registeredAs(definition, registered, project) ?? registeredAs(definition, registered)
  const folder = found?.definition.type === 'stdio' ? found.definition.cwd : null
  return folder === null || folder === project ? found?.id : undefined
}

interface ProjectEntry {
  readonly entry: Entry
  readonly scope: string
  readonly project: string
}

/** Entries for single projects that the agent keeps in the user's file. */
function projectEntries(target: ConfigTarget, { root }: CurrentConfig): ProjectEntry[] {
  const { agent, place, platform } = target
  if (place.scope !== 'user') return []
  return agent.scopes.flatMap(({ scope, keyPath, ...file }) => {
    const at = keyPath?.indexOf(PROJECT) ?? -1
    if (!keyPath || at === -1 || fileAt(file, platform, undefined)?.path !== place.path) return []
    const projects = valueAt(root, keyPath.slice(0, at))
    return Object.keys(isMap(projects) ? projects : {}).flatMap((project) => {
      const path = keyPath.map((name) => (name === PROJECT ? project : name))
      return entriesUnder(agent, { ...place, scope, keyPath: path }, root).map((entry) => ({
        entry,
        scope,
        project,
      }))
    })
  })
}
