import type { FactBus } from '../../kernel/facts.ts'
import type { Collection } from '../catalogue/aggregate.ts'
import type { LeftOut } from '../catalogue/merged-catalogue.ts'
import type { Session } from '../sessions/sessions.ts'
import { hearerOf } from './session-subscriber.ts'

interface Deps {
  readonly facts: FactBus
  readonly collection: Pick<
    Collection,
    'heard' | 'hasLevel' | 'started' | 'forget' | 'changed' | 'contents' | 'leftOut'
  >
  readonly sessions: () => Iterable<Session>
  /** Whether this server may still be heard: one that floods is not. */
  readonly passes: (serverId: string) => boolean
  /** To everybody who is with this server alone. */
  readonly note: (sessions: Iterable<Session>, serverId: string, method: string, params: unknown) => void
  /** To everybody who is with all servers together, or to one kind of agents: these are no longer what they were. */
  readonly changed: (method: string, agentType?: string) => void
  /** For the person who can rename one of the two. */
  readonly onLeftOut: (left: LeftOut) => void
}

/** A server that comes or goes changes several lists, and one that starts says so several times. */
const DEBOUNCE_MS = 100
/** A server that forgets everything with every request is not reminded without an end. */
const ANEW_MS = 2000
const MOST_LEFT_OUT = 100
const CHANGED = ['notifications/prompts/list_changed', 'notifications/resources/list_changed']
const MESSAGE = 'notifications/message'

/** What happens with servers, told to the agents that want to hear it. Gives the function that ends it. */
export function beginHearing(deps: Deps): () => void {
  const { facts, collection, sessions, passes, note, changed } = deps
  let due: NodeJS.Timeout | undefined
  let reported: ReadonlySet<string> = new Set()
  let known: ReturnType<Collection['contents']> | undefined
  const reminded = new Map<string, { again: boolean; readonly timer: NodeJS.Timeout }>()

  const look = () => {
    collection.changed()
    const now = collection.contents()
    for (const kind of ['prompts', 'resources'] as const)
      if (!known || !isSame(known[kind], now[kind])) changed(`notifications/${kind}/list_changed`)
    known = now
    const left = collection.leftOut().slice(0, MOST_LEFT_OUT)
    for (const each of left) if (!reported.has(keyOf(each))) deps.onLeftOut(each)
    reported = new Set(left.map(keyOf))
  }
  const mayHaveChanged = () => {
    collection.changed()
    clearTimeout(due)
    due = setTimeout(look, DEBOUNCE_MS).unref()
  }

  const begunAnew = (serverId: string) => {
    const before = reminded.get(serverId)
    if (before) {
      before.again = true
      return
    }
    const timer = setTimeout(() => {
      const { again } = reminded.get(serverId) ?? {}
      reminded.delete(serverId)
      if (again) begunAnew(serverId)
    }, ANEW_MS).unref()
    reminded.set(serverId, { again: false, timer })
    collection.started(serverId)
  }

  const stops = [
    ...(['lists_changed', 'server_added', 'server_updated', 'server_removed'] as const).map((kind) =>
      facts.on(kind, mayHaveChanged),
    ),
    facts.on('server_removed', ({ server_id }) => collection.forget(server_id)),
    facts.on('server_note', ({ server_id, method, params }) => {
      if (!passes(server_id) || collection.heard(server_id, method, params)) return
      const rest = method === MESSAGE ? undecided(sessions(), collection) : sessions()
      note(rest, server_id, method, params)
    }),
    facts.on('server_status', ({ server_id, state }) => {
      if (state.status === 'running') collection.started(server_id)
    }),
    facts.on('http_server_connected', ({ server_id }) => begunAnew(server_id)),
    facts.on('agent_tools_changed', ({ agent_type }) => {
      for (const method of CHANGED) changed(method, agent_type)
    }),
  ]
  return () => {
    clearTimeout(due)
    for (const { timer } of reminded.values()) clearTimeout(timer)
    for (const stop of stops) stop()
  }
}

const keyOf = ({ server_id, kind, name }: LeftOut): string => JSON.stringify([server_id, kind, name])

const isSame = (before: readonly Buffer[], after: readonly Buffer[]): boolean =>
  after.every((body, at) => before[at]?.equals(body))

/** Whoever has not said what it wants to hear gets what the server chooses. */
function* undecided(sessions: Iterable<Session>, { hasLevel }: Pick<Collection, 'hasLevel'>) {
  for (const session of sessions) if (!hasLevel(hearerOf(session))) yield session
}
