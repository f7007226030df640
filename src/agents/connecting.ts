import type { Caller } from '../kernel/wire.ts'
import type { ChangeReport, How } from './editing.schema.ts'
import type { createEditing } from './editing.ts'
import { agentOf } from './where.ts'

/** What connecting needs of the gateway. */
export interface GatewayKeys {
  /** Where agents reach it. */
  readonly url: () => string
  readonly make: (
    agentType: string,
    name: string,
    by: Caller,
  ) => Promise<{ readonly id: string; readonly key: string }>
  readonly remove: (id: string, by: Caller) => Promise<void>
  /** Of those that were made for this agent under this name. */
  readonly idsOf: (agentType: string, name: string) => readonly string[]
}

/** The one entry through which an agent sees every server. */
const ENTRY = 'toolroom'
const nameOf = ({ scope = 'user', project_path }: How): string =>
  project_path === undefined ? `connect: ${scope}` : `connect: ${scope} of ${project_path}`.slice(0, 100)

/** One entry in an agent's file, with a key of its own, instead of one for each server. */
export function createConnecting(
  { set, remove }: Pick<ReturnType<typeof createEditing>, 'set' | 'remove'>,
  { url, make, remove: removeKey, idsOf }: GatewayKeys,
) {
  const entry = (key: string) => ({
    [ENTRY]: { type: 'http' as const, url: url(), headers: { Authorization: `Bearer ${key}` } },
  })

  return {
    async connect(agent: string, how: How, by: Caller): Promise<ChangeReport> {
      const { type } = agentOf(agent)
      // Tried first with a key that opens nothing: whatever can be refused is refused before there is a real one.
      const dry = await set(agent, { ...how, servers: entry('tk_shown-when-it-is-made'), dry_run: true }, by)
      if (how.dry_run) return dry
      const before = idsOf(type, nameOf(how))
      const made = await make(type, nameOf(how), by)
      try {
        const report = await set(agent, { ...how, servers: entry(made.key) }, by)
        for (const id of before) await removeKey(id, by)
        return report
      } catch (error) {
        await removeKey(made.id, by)
        throw error
      }
    },

    async disconnect(agent: string, how: How, by: Caller): Promise<ChangeReport> {
      const { type } = agentOf(agent)
      const report = await remove(agent, [ENTRY], how, by)
      if (!how.dry_run) for (const id of idsOf(type, nameOf(how))) await removeKey(id, by)
      return report
    },
  }
}
