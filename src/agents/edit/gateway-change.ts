import { AppError } from '../../kernel/errors.ts'
import { type Caller, slugOf } from '../../kernel/rest-parts.ts'
import { isReference, parseReferences } from '../../kernel/secrets/references.ts'
import { plainSecretsIn } from '../../servers/shared/definition/move-secrets.ts'
import type { RegisteredServer } from '../catalogue/server-definition.ts'
import type { Choice } from '../files/ownership-store.ts'
import { comparedValues, type SecretOf, textsOf } from '../read/server-identity.ts'
import type { ChangeReport } from './edit.schema.ts'
import type { OfferedEntry } from './take-over.ts'

/** One tool, by the name that its server uses and by the one that an agent sees. */
export interface OfferedTool {
  readonly tool: string
  readonly name: string
  /** Its name at `/mcp/{server_id}`. */
  readonly alone: string
  /** What its definition takes in a context: with its own name, and with the one of the gateway. */
  readonly own_tokens: number
  readonly tokens: number
}

/** What an agent sees at the gateway: the tools of each server, none if they are not known yet. */
export type Offer = ReadonlyMap<string, readonly OfferedTool[]>

/** What edits need of the servers that agents see. */
export interface GatewayOffers {
  /** A person has stopped the server, so no call starts it. */
  readonly isStopped: (serverId: string) => boolean
  readonly chosenFor: (agentType: string) => Choice
  /** What the agent would see. */
  readonly withChoice: (agentType: string, choice: Choice) => Offer
  /** `frees`: the choice belongs to a change that is made or taken back already, so a full disk does not refuse it. */
  readonly choose: (agentType: string, choice: Choice, by: Caller, frees?: boolean) => Promise<unknown>
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
  readonly secretOf: SecretOf
  /** The agents that can use a server. */
  readonly usersOf: (serverId: string) => readonly string[]
  readonly agentType: string
  readonly registered: readonly RegisteredServer[]
  readonly choice: Choice
  /** Everything that could be chosen. */
  readonly all: Offer
  readonly before: Offer
  readonly after: Offer
  /** The agent's own entries of servers that it could see at the gateway. */
  readonly own: readonly OfferedEntry[]
  /** Those that lead to the gateway afterwards. */
  readonly replaced: readonly OfferedEntry[]
  /** The names of its other entries, which stay in the file. */
  readonly others: readonly string[]
  readonly keepsNames: boolean
  /** Its entry is a command, and no URL. */
  readonly isBridge: boolean
}

/** What an agent can use before and after a change. */
export function gatewayChange(facts: Facts): NonNullable<ChangeReport['gateway']> {
  const { choice, all, before, after, own, replaced, others, keepsNames } = facts
  const kept = own.filter((entry) => !replaced.includes(entry))
  const ownIds = own.map(({ server_id }) => server_id)
  const keptIds = kept.map(({ server_id }) => server_id)
  const had = new Set([...before.keys(), ...ownIds])
  const has = new Set([...after.keys(), ...keptIds])
  return {
    servers: choice && [...choice],
    keep_names: keepsNames,
    starts_toolroom: facts.isBridge,
    before: { ...countsOf(had, all, new Set(ownIds)), servers: had.size + others.length },
    after: { ...countsOf(has, all, keepsNames ? has : new Set(keptIds)), servers: has.size + others.length },
    gained: [...has].filter((id) => !had.has(id)),
    replaced: replaced.map((entry) => replacedBy(entry, facts)),
    kept: [...kept.map(({ entry }) => entry.name), ...others],
    credentials: { before: credentialsOf(had, facts), after: credentialsOf(has, facts) },
    not_added: [...all.keys()].filter((id) => !has.has(id)).length,
  }
}

type Replaced = NonNullable<ChangeReport['gateway']>['replaced'][number]

function replacedBy({ entry, server_id }: OfferedEntry, facts: Facts): Replaced {
  const { secretOf, agentType, registered, after, keepsNames } = facts
  const othersWith = (id: string) => facts.usersOf(id).filter((type) => type !== agentType)
  const server = registered.find(({ id }) => id === server_id)
  return {
    name: entry.name,
    server_id,
    shared_with: othersWith(server_id),
    variants: variantsOf(entry.name, server, registered).flatMap(({ id, definition }) => {
      if (!server || server.definition instanceof AppError || definition instanceof AppError) return []
      const values = comparedValues(server.definition, definition, secretOf)
      return [{ server_id: id, agents: othersWith(id), values }]
    }),
    tools: (after.get(server_id) ?? []).map(({ tool, name, alone }) => ({
      before: tool,
      after: keepsNames ? alone : name,
    })),
  }
}

const MAX_VARIANTS = 20

/** Other servers that were made from entries of this name. */
function variantsOf(name: string, server: RegisteredServer | undefined, all: readonly RegisteredServer[]) {
  const base = slugOf(name)
  const isNamesake = ({ id }: RegisteredServer) => id === base || id.startsWith(`${base}-`)
  return all
    .filter((other) => other !== server && isNamesake(other) && isAlike(server, other))
    .slice(0, MAX_VARIANTS)
}

const isAlike = (one: RegisteredServer | undefined, { definition: other }: RegisteredServer): boolean => {
  if (!one || one.definition instanceof AppError || other instanceof AppError) return false
  return one.definition.type === 'stdio'
    ? other.type === 'stdio' && one.definition.command === other.command
    : other.type !== 'stdio'
}

/** `own`: the servers whose tools have their own names. */
function countsOf(ids: ReadonlySet<string>, all: Offer, own: ReadonlySet<string>) {
  const tools = [...ids].flatMap((id) => (all.get(id) ?? []).map((tool) => ({ id, tool })))
  const tokens = tools.reduce((sum, { id, tool }) => sum + (own.has(id) ? tool.own_tokens : tool.tokens), 0)
  return { tools: tools.length, tokens }
}

/** The secrets that servers use: `github: env GITHUB_TOKEN`. */
function credentialsOf(ids: ReadonlySet<string>, { registered }: Pick<Facts, 'registered'>): string[] {
  return registered.flatMap(({ id, definition }) => {
    if (!ids.has(id) || definition instanceof AppError) return []
    const named = [...textsOf(definition)].flatMap(([label, text]) => {
      const isSecret = parseReferences(text ?? '').some((part) => isReference(part) && part.kind === 'secret')
      return isSecret ? [label] : []
    })
    return [...new Set([...plainSecretsIn(definition), ...named])].map((label) => `${id}: ${label}`)
  })
}
