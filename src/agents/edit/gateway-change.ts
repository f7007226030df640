import { AppError } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import { isReference, parseReferences } from '../../kernel/secrets/references.ts'
import { plainSecretsIn } from '../../servers/shared/definition/move-secrets.ts'
import type { RegisteredServer } from '../catalogue/server-definition.ts'
import { textsOf } from '../read/server-identity.ts'
import type { ChangeReport } from './edit.schema.ts'
import type { OfferedEntry } from './take-over.ts'

/** One tool, by the name that its server uses and by the one that an agent sees. */
export interface OfferedTool {
  readonly tool: string
  readonly name: string
  /** What its definition takes in a context: with its own name, and with the one of the gateway. */
  readonly own_tokens: number
  readonly tokens: number
}

/** What an agent sees at the gateway: the tools of each server, none if they are not known yet. */
export type Offer = ReadonlyMap<string, readonly OfferedTool[]>

/** The servers that an agent sees at the gateway. Null: all, also those that are added later. */
export type Choice = readonly string[] | null

/** What edits need of the servers that agents see. */
export interface GatewayOffers {
  /** A person has stopped the server, so no call starts it. */
  readonly isStopped: (serverId: string) => boolean
  readonly chosenFor: (agentType: string) => Choice
  /** What the agent would see. */
  readonly withChoice: (agentType: string, choice: Choice) => Offer
  readonly choose: (agentType: string, choice: Choice, by: Caller) => Promise<unknown>
}

/** The servers of an agent after its entries led to them: those it had, and those it has at the gateway already. */
export function choiceAfter(
  asked: 'all' | readonly string[] | undefined,
  isTakeOver: boolean,
  { isConnected, chosen }: { readonly isConnected: boolean; readonly chosen: Choice },
  had: readonly OfferedEntry[],
): Choice {
  if (asked !== undefined) return asked === 'all' ? null : asked
  if (!isTakeOver || (isConnected && chosen === null)) return chosen
  const before = isConnected ? (chosen ?? []) : []
  return [...new Set([...before, ...had.map(({ server_id }) => server_id)])]
}

interface Facts {
  readonly registered: readonly RegisteredServer[]
  readonly choice: Choice
  /** Everything that could be chosen. */
  readonly all: Offer
  readonly before: Offer
  readonly after: Offer
  /** The agent's own entries of servers that it could see at the gateway. */
  readonly own: readonly OfferedEntry[]
  /** The names of its other entries, which stay in the file. */
  readonly others: readonly string[]
  readonly isTakeOver: boolean
}

/** What an agent can use before and after a change. */
export function gatewayChange(facts: Facts): NonNullable<ChangeReport['gateway']> {
  const { choice, all, before, after, own, others, isTakeOver } = facts
  const replaced = isTakeOver ? own.filter(({ server_id }) => after.has(server_id)) : []
  const kept = own.filter((entry) => !replaced.includes(entry))
  const ownIds = own.map(({ server_id }) => server_id)
  const had = new Set([...before.keys(), ...ownIds])
  const has = new Set([...after.keys(), ...kept.map(({ server_id }) => server_id)])
  return {
    servers: choice && [...choice],
    before: { ...countsOf(had, all, new Set(ownIds)), servers: had.size + others.length },
    after: { ...countsOf(has, all, new Set()), servers: has.size + others.length },
    gained: [...has].filter((id) => !had.has(id)),
    replaced: replaced.map(({ entry, server_id }) => ({
      name: entry.name,
      server_id,
      tools: (after.get(server_id) ?? []).map(({ tool, name }) => ({ before: tool, after: name })),
    })),
    kept: [...kept.map(({ entry }) => entry.name), ...others],
    credentials: { before: credentialsOf(had, facts), after: credentialsOf(has, facts) },
    not_added: [...all.keys()].filter((id) => !has.has(id)).length,
  }
}

/** `own`: the servers whose tools have their own names. */
function countsOf(ids: ReadonlySet<string>, all: Offer, own: ReadonlySet<string>) {
  const tools = [...ids].flatMap((id) => (all.get(id) ?? []).map((tool) => ({ id, tool })))
  const tokens = tools.reduce((sum, { id, tool }) => sum + (own.has(id) ? tool.own_tokens : tool.tokens), 0)
  return { tools: tools.length, tokens }
}

/** The secrets that servers use: `github: env GITHUB_TOKEN`. */
function credentialsOf(ids: ReadonlySet<string>, { registered }: Facts): string[] {
  return registered.flatMap(({ id, definition }) => {
    if (!ids.has(id) || definition instanceof AppError) return []
    const named = [...textsOf(definition)].flatMap(([label, text]) => {
      const isSecret = parseReferences(text ?? '').some((part) => isReference(part) && part.kind === 'secret')
      return isSecret ? [label] : []
    })
    return [...new Set([...plainSecretsIn(definition), ...named])].map((label) => `${id}: ${label}`)
  })
}
