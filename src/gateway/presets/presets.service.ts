import { AppError, invalidField } from '../../kernel/errors.ts'
import type { AuditEntry } from '../../kernel/fact-bus.ts'
import { type Caller, ID_PATTERN } from '../../kernel/rest-parts.ts'
import { isoTime } from '../../kernel/time.ts'
import type { AgentToolsInput, AgentToolsView } from '../catalogue/visibility.schema.ts'
import { toolNamesOf, type Visibility } from '../catalogue/visibility.service.ts'
import type { ApplyInput, ApplyReport, Preset, PresetInput, PresetView } from './presets.schema.ts'

/** Answers from memory. */
export interface PresetStore {
  all(): ReadonlyMap<string, Preset>
  save(name: string, preset: Preset, audit: AuditEntry): Promise<void>
  remove(name: string, audit: AuditEntry): Promise<void>
}

interface Deps {
  readonly store: PresetStore
  readonly visibility: Visibility
  readonly hasServer: (id: string) => boolean
  readonly now: () => number
}

const MAX_PRESETS = 100
const NAME = new RegExp(ID_PATTERN)

/** Named choices of servers and tools, which can be applied to any agent. */
export function createPresets({ store, visibility, hasServer, now }: Deps) {
  function find(name: string): Preset {
    const preset = store.all().get(name)
    if (preset) return preset
    throw new AppError('not_found', `No preset has the name '${name.slice(0, 100)}'`, {
      hint: 'GET /api/presets lists the presets',
    })
  }

  const view = (name: string, { servers, tools, updated_at }: Preset): PresetView => ({
    name,
    servers: servers && [...servers],
    tools: Object.fromEntries(Object.entries(tools).map(([id, names]) => [id, [...names]])),
    updated_at: isoTime(updated_at),
  })

  return {
    list: (): PresetView[] =>
      [...store.all()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, preset]) => view(name, preset)),
    get: (name: string): PresetView => view(name, find(name)),

    async put(name: string, input: PresetInput, by: Caller): Promise<PresetView> {
      if (!NAME.test(name))
        throw invalidField(
          '/name',
          'must be lower-case letters, digits, dots, hyphens and underscores, at most 64',
        )
      if (!store.all().has(name) && store.all().size >= MAX_PRESETS)
        throw new AppError('limit_reached', `Too many presets (max ${MAX_PRESETS})`, {
          hint: 'Delete a preset that is no longer used',
        })
      visibility.refuseUnknownServers(input)
      const { servers = null, tools = {} } = input
      const preset = { servers, tools: toolNamesOf(tools), updated_at: now() }
      const detail = { servers: preset.servers, tools: preset.tools }
      await store.save(name, preset, { action: 'preset_saved', subject: name, ...by, detail })
      return view(name, preset)
    },

    async remove(name: string, by: Caller): Promise<void> {
      find(name)
      await store.remove(name, { action: 'preset_removed', subject: name, ...by, detail: {} })
    },

    /** Servers that were deleted since the preset was saved are left out. */
    async apply(
      agentType: string,
      { preset: name, dry_run = false }: ApplyInput,
      by: Caller,
    ): Promise<ApplyReport> {
      const { servers, tools } = view(name, find(name))
      const missing = [...new Set([...(servers ?? []), ...Object.keys(tools)])].filter((id) => !hasServer(id))
      const input: AgentToolsInput = {
        servers: servers?.filter(hasServer) ?? null,
        tools: Object.fromEntries(Object.entries(tools).filter(([id]) => hasServer(id))),
      }
      const before = visibility.get(agentType)
      const after = dry_run
        ? visibility.preview(agentType, input)
        : await visibility.change(agentType, input, by)
      const choice = (of: Pick<typeof before, 'servers' | 'tools'>) => JSON.stringify([of.servers, of.tools])
      return {
        preset: name,
        dry_run,
        changed: choice(before) !== choice(after),
        warnings: missing.map((id) => `No server has the id '${id}' any more; it was left out`),
        ...differenceOf(before, after),
        ...after,
      }
    },
  }
}
export type Presets = ReturnType<typeof createPresets>

/** What a preset gives to the agent, and takes from it. */
function differenceOf(before: AgentToolsView, after: AgentToolsView) {
  const toolsIn = ({ by_server }: AgentToolsView) =>
    new Map(by_server.map(({ server_id, tools }) => [server_id, tools]))
  const [had, has] = [toolsIn(before), toolsIn(after)]
  const { servers, visible, by_server } = before
  return {
    before: { servers, visible, by_server },
    gained: [...has.keys()].filter((id) => !had.has(id)),
    lost: [...had.keys()].filter((id) => !has.has(id)),
    more_tools: [...has].flatMap(([id, tools]) => (tools > (had.get(id) ?? tools) ? [id] : [])),
  }
}
