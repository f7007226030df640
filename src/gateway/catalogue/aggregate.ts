import { isObject } from '../../kernel/is-object.ts'
import type { CallResult } from '../../protocol/call.ts'
import type { Catalogue } from '../../upstreams/catalogues.ts'
import { CODES, type Incoming, RpcError } from '../endpoint/json-rpc.ts'
import { completed, metaOf } from '../endpoint/modern-requests.ts'
import { LogLevels } from '../notify/log-levels.ts'
import { ResourceSubscriptions, UPDATED } from '../notify/resource-subscriptions.ts'
import { hearerOf } from '../notify/session-subscriber.ts'
import type { Hearer, Questioner, Upstream } from '../notify/subscriber.ts'
import { type LeftOut, type Place, type Shelf, stack } from './merged-catalogue.ts'
import { mergedInstructions } from './merged-instructions.ts'
import { LEGACY_NOT_FOUND, notFound } from './resource-not-found.ts'
import { Links } from './resource-owners.ts'
import { wrap } from './wrapped-uri.ts'

interface Deps<Asking> extends Upstream {
  /** What a server said of itself when it last ran. */
  readonly catalogueOf: (serverId: string) => Catalogue | undefined
  /** The servers that an agent may use; without an agent, all that are offered. */
  readonly visibleServers: (agentType?: string) => readonly string[]
  /** Asks a server in the name of an agent. Rejects with what the agent is told. */
  readonly handOn: (message: Incoming, serverId: string, asking: Asking) => Promise<CallResult>
}

const EMPTY = Buffer.from('{}')
const MOST_SHELVES = 100
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'

/** Everything but tools that servers offer together: what there is, where it is, and who hears of it. */
export function createCollection<Asking extends Questioner>(deps: Deps<Asking>) {
  const { catalogueOf, visibleServers, handOn } = deps
  const shelves = new Map<string, Shelf>()
  const links = new Links()
  const declares = (serverId: string, capability: string) =>
    catalogueOf(serverId)?.capabilities[capability] !== undefined
  const hasLog = (serverId: string) => declares(serverId, 'logging')
  const logs = new LogLevels({ ...deps, hasLog })
  const subscriptions = new ResourceSubscriptions({
    ...deps,
    tells: (serverId) => hasSubscribe(catalogueOf(serverId)),
    find: ({ serverId, agentType }, uri) =>
      serverId === undefined ? placeOf(uri, agentType) : { serverId, uri, isWrapped: false },
  })

  function shelfFor(agentType: string | undefined): Shelf {
    const ids = visibleServers(agentType)
    const key = ids.join()
    const known = shelves.get(key)
    if (known) return known
    const stocks = ids.flatMap((id) => {
      const catalogue = catalogueOf(id)
      return catalogue ? [{ ...catalogue, id }] : []
    })
    const shelf = stack(stocks)
    if (shelves.size >= MOST_SHELVES) shelves.clear()
    shelves.set(key, shelf)
    return shelf
  }

  /** What a result has spoken of comes last: a server must not lead away from what another one lists. */
  function placeOf(uri: string, agentType: string): Place | undefined {
    const place = shelfFor(agentType).resource(uri)
    if (place) return place
    const serverId = links.serverOf(uri)
    const isKnown = serverId !== undefined && visibleServers(agentType).includes(serverId)
    return isKnown ? { serverId, uri, isWrapped: false } : undefined
  }

  /** How an agent has to call a resource that this server has spoken of. */
  const nameFor =
    (serverId: string, { agentType }: Asking) =>
    (uri: string): string => {
      const place = placeOf(uri, agentType)
      return place === undefined || (place.serverId === serverId && !place.isWrapped)
        ? uri
        : wrap(serverId, uri)
    }

  async function ask(
    message: Incoming,
    serverId: string,
    asking: Asking,
    nameOf = nameFor(serverId, asking),
  ): Promise<Buffer> {
    const stop = await listenTo(serverId, message.params, asking)
    try {
      const { json, value } = await handOn(message, serverId, asking)
      const told = links.through(serverId, value, nameOf)
      const bytes = told === value ? json : Buffer.from(JSON.stringify(told))
      return asking.era === 'modern' ? completed({ json: bytes, value: told }, message.method ?? '') : bytes
    } finally {
      stop?.()
    }
  }

  function getPrompt(message: Incoming, asking: Asking): Promise<Buffer> {
    const { params } = message
    const found = shelfFor(asking.agentType).prompt(String(params.name))
    if (!found) throw new RpcError(CODES.params, `Unknown prompt: ${String(params.name).slice(0, 100)}`)
    return ask({ ...message, params: { ...params, name: found.name } }, found.serverId, asking)
  }

  async function read(message: Incoming, asking: Asking): Promise<Buffer> {
    const { params } = message
    if (typeof params.uri !== 'string') throw new RpcError(CODES.params, 'uri must be a text')
    const place = placeOf(params.uri, asking.agentType)
    if (!place) throw notFound(params.uri, asking.era)
    const { serverId, uri } = place
    // Where the agent knows one of its resources by our name, it knows all that come with it so.
    const nameOf = place.isWrapped ? (each: string) => wrap(serverId, each) : nameFor(serverId, asking)
    try {
      return await ask({ ...message, params: { ...params, uri } }, serverId, asking, nameOf)
    } catch (error) {
      const isMissing = error instanceof RpcError && error.code === LEGACY_NOT_FOUND
      throw isMissing && asking.era === 'modern' ? notFound(params.uri, asking.era) : error
    }
  }

  function complete(message: Incoming, asking: Asking): Promise<Buffer> {
    const { params } = message
    const ref = isObject(params.ref) ? params.ref : {}
    const shelf = shelfFor(asking.agentType)
    if (ref.type === 'ref/prompt') {
      const found = shelf.prompt(String(ref.name))
      if (!found) throw new RpcError(CODES.params, `Unknown prompt: ${String(ref.name).slice(0, 100)}`)
      return ask(
        { ...message, params: { ...params, ref: { ...ref, name: found.name } } },
        found.serverId,
        asking,
      )
    }
    const uri = String(ref.uri)
    const template = shelf.template(uri)
    const place = template === undefined ? placeOf(uri, asking.agentType) : { serverId: template, uri }
    if (ref.type !== 'ref/resource' || !place)
      throw new RpcError(CODES.params, 'ref names neither a prompt nor a template that is known here')
    return ask({ ...message, params: { ...params, ref: { ...ref, uri: place.uri } } }, place.serverId, asking)
  }

  function list(method: string, { params }: Incoming, { agentType, era }: Asking): Buffer {
    if (params.cursor !== undefined) throw new RpcError(CODES.params, 'There is no such page')
    return shelfFor(agentType).lists[method]?.[era] ?? EMPTY
  }

  /** Only sessions have these: what comes of them is told later. */
  async function wish({ method, params }: Incoming, hearer: Hearer): Promise<Buffer> {
    if (method === 'logging/setLevel') {
      const { serverId, agentType } = hearer
      const concerned = serverId === undefined ? visibleServers(agentType) : [serverId]
      if (!concerned.some(hasLog)) throw new RpcError(CODES.method, 'No server here has a log to be heard')
      logs.set(hearer, params.level)
    } else {
      if (typeof params.uri !== 'string') throw new RpcError(CODES.params, 'uri must be a text')
      if (method === 'resources/subscribe') await subscriptions.subscribe(hearer, params.uri)
      else subscriptions.unsubscribe(hearer, params.uri)
    }
    return EMPTY
  }

  /** What the server says until this is answered goes to who has asked for it. Undefined when nobody has. */
  function listenTo(
    serverId: string,
    params: Incoming['params'],
    asking: Asking,
  ): Promise<(() => void) | undefined> | undefined {
    if (asking.era === 'legacy') return undefined
    const level = metaOf(params)[LOG_LEVEL]
    return level === undefined ? undefined : logs.during(serverId, asking, level)
  }

  return {
    subscriptions,
    listenTo,

    /** Undefined when it is nothing for here: of one server alone, it answers itself. */
    answer(message: Incoming, asking: Asking): Promise<Buffer> | Buffer | undefined {
      const { method = '' } = message
      if (asking.session && WISHES.includes(method)) return wish(message, hearerOf(asking.session))
      if (asking.serverId !== undefined) return undefined
      switch (method) {
        case 'prompts/list':
        case 'resources/list':
        case 'resources/templates/list':
          return list(method, message, asking)
        case 'prompts/get':
          return getPrompt(message, asking)
        case 'resources/read':
          return read(message, asking)
        case 'completion/complete':
          return complete(message, asking)
        default:
          return undefined
      }
    },

    /** A result of a tool on its way to an agent: what it speaks of can be read later. Nearly free where it does not. */
    remember(serverId: string, result: CallResult, asking: Asking): CallResult {
      if (asking.serverId !== undefined || !result.json.includes(SPOKEN_OF)) return result
      const told = links.through(serverId, result.value, nameFor(serverId, asking))
      return told === result.value ? result : { value: told, json: Buffer.from(JSON.stringify(told)) }
    },

    capabilities(agentType: string, era: Questioner['era']): object {
      const all = visibleServers(agentType).map((id) => catalogueOf(id))
      const some = (capability: string) => all.some((each) => each?.capabilities[capability] !== undefined)
      const subscribe = all.some(hasSubscribe)
      return {
        tools: { listChanged: true },
        ...(some('prompts') && { prompts: { listChanged: true } }),
        ...(some('resources') && { resources: { listChanged: true, ...(subscribe && { subscribe }) } }),
        ...(some('completions') && { completions: {} }),
        ...(some('logging') && era === 'legacy' && { logging: {} }),
      }
    },

    instructions(serverId: string | undefined, agentType: string): string | undefined {
      if (serverId !== undefined) return catalogueOf(serverId)?.instructions ?? undefined
      const said = visibleServers(agentType).map((id) => {
        return { id, instructions: catalogueOf(id)?.instructions ?? null }
      })
      return mergedInstructions(said)
    },

    leftOut: (): readonly LeftOut[] => shelfFor(undefined).leftOut,

    /** The lists as they are now, for who compares them with what they were. */
    contents(): Readonly<Record<'prompts' | 'resources', readonly Buffer[]>> {
      const { lists } = shelfFor(undefined)
      const bodies = (...methods: string[]) => methods.map((method) => lists[method]?.legacy ?? EMPTY)
      return {
        prompts: bodies('prompts/list'),
        resources: bodies('resources/list', 'resources/templates/list'),
      }
    },

    changed: (): void => shelves.clear(),

    /** What a server said unasked. False when it is for everybody who is with this server alone. */
    heard(serverId: string, method: string, params: unknown): boolean {
      if (method === 'notifications/message') logs.heard(serverId, params)
      if (method === UPDATED) subscriptions.updated(serverId, params)
      return method === UPDATED
    },

    /** Whether a session has said from which level on it wants to hear a log. */
    hasLevel: (hearer: Hearer): boolean => logs.has(hearer),

    started(serverId: string): void {
      logs.started(serverId)
      subscriptions.started(serverId)
    },

    forget: (serverId: string): void => subscriptions.forget(serverId),

    left(hearer: Hearer): void {
      logs.remove(hearer)
      subscriptions.remove(hearer)
    },
  }
}
export type Collection = ReturnType<typeof createCollection>

const WISHES = ['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']
/** Of both kinds of items that speak of resources, as JSON writes them. */
const SPOKEN_OF = '"resource'

function hasSubscribe(catalogue: Catalogue | undefined): boolean {
  const resources = catalogue?.capabilities.resources
  return isObject(resources) && resources.subscribe === true
}
