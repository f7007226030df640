import { AGENTS, findAgent } from '../agents/catalogue/agent-catalogue.ts'
import type { GatewayOffers, Offer, OfferedTool } from '../agents/edit/gateway-change.ts'
import type { AccessToken, Guesses } from '../api/http/auth.ts'
import { AgentToolLists } from '../gateway/catalogue/agent-tool-lists.ts'
import { type AgentTools, DEFAULT_AGENT_TOOLS } from '../gateway/catalogue/visibility.schema.ts'
import { createVisibility } from '../gateway/catalogue/visibility.service.ts'
import { createGateway } from '../gateway/gateway.ts'
import type { KeyView } from '../gateway/keys/keys.schema.ts'
import { createKeys } from '../gateway/keys/keys.service.ts'
import { ChangeLog } from '../gateway/pins/definition-change-log.ts'
import { approvalOf, Pins } from '../gateway/pins/pins.ts'
import { createPresets } from '../gateway/presets/presets.service.ts'
import { VERSION } from '../kernel/version.ts'
import type { CallRecorder } from '../servers/shared/call-recorder.ts'
import { Catalogues } from '../servers/shared/catalogues.ts'
import { toolTokens } from '../servers/shared/tool-view.ts'
import type { Upstreams } from '../servers/shared/upstreams.ts'
import { openAgentToolsStore } from '../store/agent-tools.store.ts'
import { openKeyStore } from '../store/keys.store.ts'
import { pinStore } from '../store/pins.store.ts'
import { openPresetStore } from '../store/presets.store.ts'
import { catalogueStore } from '../store/servers.store.ts'
import type { Basics } from './basics.ts'

/** The catalogues of all servers, and the approved definitions in them. */
export async function openCatalogues(basics: Basics) {
  const { config, database, table, facts, secrets, log, closer, audit } = basics
  const redact = (text: string) => secrets.redact(text)
  const onError = (error: unknown) => log.warn({ error }, 'a change to tools could not be saved')
  const changeLog = new ChangeLog({ log, audit, onError })
  const pins = await Pins.open({
    store: pinStore(database, table),
    facts,
    changeLog,
    hold: config.hold_changed_tools,
    redact,
    now: Date.now,
    onError,
  })
  closer.add('the tool pins', () => pins.close())
  const catalogues = await Catalogues.open({
    store: catalogueStore(database, table),
    pins,
    facts,
    redact,
    now: Date.now,
    onError: (server_id, error) => log.warn({ server_id, error }, 'tool list could not be saved'),
  })
  closer.add('the catalogues', () => catalogues.save())
  return { catalogues, pins }
}

interface Deps {
  readonly access: { readonly token: AccessToken; readonly guesses: Guesses }
  readonly catalogues: Catalogues
  readonly pins: Pins
  readonly upstreams: Upstreams
  readonly calls: CallRecorder
}

/** The gateway, its keys, and the settings of what each agent sees. */
export async function openGateway(basics: Basics, { access, catalogues, pins, upstreams, calls }: Deps) {
  const { config, database, facts, log } = basics
  const typeOf = (agentType: string) => findAgent(agentType)?.type ?? agentType
  const keyStore = await openKeyStore(database, typeOf)
  const keys = createKeys({
    store: keyStore,
    typeOf,
    now: Date.now,
    onError: (error) => log.warn({ error }, 'the last use of a key could not be saved'),
  })
  const agentTools = await openAgentToolsStore(database, typeOf)
  const offered = () =>
    upstreams
      .all()
      .filter(({ status }) => status !== 'disabled')
      .map(({ id, catalogue, settings, isStopped }) => ({
        id,
        tools: catalogue?.tools ?? [],
        settings,
        isStopped,
      }))
  const toolLists = new AgentToolLists(offered, agentTools.of, (id, definition) =>
    pins.isHeld(id, 'tool', definition),
  )
  const hasKey = (agentType: string) => keys.list().some(({ agent_type }) => agent_type === agentType)
  const visibility = createVisibility({
    store: agentTools,
    toolLists,
    facts,
    typeOf: (word) => findAgent(word)?.type ?? (hasKey(word) ? word : undefined),
    knownTypes: () => [...AGENTS.map(({ type }) => type), ...keys.list().map(({ agent_type }) => agent_type)],
    serverIds: () => upstreams.all().map(({ id }) => id),
    connectedTypes: () => keys.list().map(({ agent_type }) => agent_type),
  })
  const presets = createPresets({
    store: await openPresetStore(database),
    visibility,
    hasServer: (id) => upstreams.get(id) !== undefined,
    now: Date.now,
  })
  const gateway = createGateway({
    version: VERSION,
    upstreams,
    calls,
    toolLists,
    keys,
    facts,
    log,
    headerName: config.auth_token_header_name,
    wrongKeyDelayMs: (address) => access.guesses.delayMs(address),
    isToken: (given) => access.token.matches(given),
    now: Date.now,
    approval: approvalOf(pins, catalogues),
  })
  return {
    keys,
    keyStore,
    gateway,
    agentTools,
    visibility,
    presets,
    /** The gateway names of a server's tools, by their own names. */
    namesOf: (serverId: string) => toolLists.namesOf(serverId),
    /** The servers that agents see, and would see. */
    offers: {
      isStopped: (id) => upstreams.get(id)?.isStopped === true,
      chosenFor: visibility.chosenFor,
      withChoice: (agentType, servers) =>
        offerIn(toolLists, { ...(agentTools.of(agentType) ?? DEFAULT_AGENT_TOOLS), servers }),
      choose: (agentType, choice, by, frees) => {
        const servers = choice?.filter((id) => upstreams.get(id)) ?? null
        return visibility.change(agentType, { servers }, by, frees)
      },
    } satisfies GatewayOffers,
    /** What lists of agents and servers show of the gateway. */
    view: {
      visibleTo: (agentType: string) => visibility.visibleTo(agentType),
      chosenFor: (agentType: string) => visibility.chosenFor(agentType),
      lastSeen: () => lastUses(keys.list()),
      keys: () => keyStore.all(),
      mayUse: (serverId: string, agentType: string) =>
        upstreams.get(serverId)?.settings.expose === true && toolLists.mayUse(serverId, agentType),
    },
    /** The tokens that an agent's tool list takes in its context; null for an agent without a key. */
    contextTokens: (agentType: string) => (hasKey(agentType) ? visibility.tokensOf(agentType) : null),
  }
}

function offerIn(toolLists: AgentToolLists, settings: AgentTools): Offer {
  const list = toolLists.ofSettings(settings)
  const offer = new Map((list?.servers ?? []).map((id) => [id, [] as OfferedTool[]]))
  const alone = new Map(
    (list?.servers ?? []).map((id) => [
      id,
      new Map((toolLists.of(id)?.tools ?? []).map(({ tool, name }) => [tool, name])),
    ]),
  )
  for (const { server_id, tool, name, definition } of list?.tools ?? []) {
    const tokens = toolTokens({ ...definition, name })
    const aloneName = alone.get(server_id)?.get(tool) ?? tool
    offer.get(server_id)?.push({ tool, name, alone: aloneName, own_tokens: toolTokens(definition), tokens })
  }
  return offer
}

/** When a key of each agent was last used. */
function lastUses(keys: readonly KeyView[]): ReadonlyMap<string, number> {
  const seen = new Map<string, number>()
  for (const { agent_type, last_used_at } of keys) {
    if (last_used_at === null) continue
    seen.set(agent_type, Math.max(seen.get(agent_type) ?? 0, Date.parse(last_used_at)))
  }
  return seen
}
