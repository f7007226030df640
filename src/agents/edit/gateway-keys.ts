import type { AuditEntry } from '../../kernel/fact-bus.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import type { ConfigTarget } from '../catalogue/agent-catalogue.ts'
import type { GatewayAddress } from '../catalogue/gateway-entry.ts'
import { recordOf } from '../files/config-target.ts'
import type { FileRecord, KeyRemoval, NewKey, OwnershipStore, TakenEntry } from '../files/ownership-store.ts'

/** What edits need of the gateway. */
export interface GatewayKeys extends GatewayAddress {
  /** A key that becomes valid when it is saved with the change that writes it. */
  readonly draft: (agentType: string, name: string, by: Caller) => NewKey & { readonly key: string }
  /** The audit row for removing a key; undefined if there is no such key. */
  readonly removalOf: (id: string, by: Caller) => AuditEntry | undefined
  /** The id of a valid key. */
  readonly idOf: (key: string) => string | undefined
  /** The keys that were made for this agent under this name. */
  readonly idsOf: (agentType: string, name: string) => readonly string[]
}

/** What a key is for: one entry for all servers, or entries of single servers. Entries of one kind share one key. */
export type KeyKind = 'connect' | 'gateway'
const KINDS = ['connect', 'gateway'] as const
/** 32 random bytes in base64url. */
const KEY = /\btk_[\w-]{43}(?![\w-])/g

export const keyName = (kind: KeyKind, { config, project }: ConfigTarget): string =>
  project === undefined ? `${kind}: ${config.scope}` : `${kind}: ${config.scope} of ${project}`.slice(0, 100)

/** The valid keys in a text. */
export function keysIn({ idOf }: Pick<GatewayKeys, 'idOf'>, text: string): Set<string> {
  return new Set([...text.matchAll(KEY)].flatMap(([key]) => idOf(key) ?? []))
}

/** Whether a text has a key that is not valid, or not any more. */
export const hasInvalidKey = ({ idOf }: Pick<GatewayKeys, 'idOf'>, text: string): boolean =>
  [...text.matchAll(KEY)].some(([key]) => idOf(key) === undefined)

/**
 * The keys of a file after a change. A key is valid as long as it is in the file or in a parked entry; those that the
 * change takes out of the file are removed with it.
 */
export function keysAfter(
  { gateway, ownership }: { readonly gateway: GatewayKeys; readonly ownership: Pick<OwnershipStore, 'all'> },
  target: ConfigTarget,
  after: Pick<FileRecord, 'entries'> & { readonly text: string; readonly taken: readonly TakenEntry[] },
  newKey: (NewKey & { readonly key: string }) | null,
  by: Caller,
): { readonly keys: readonly string[]; readonly removedKeys: readonly KeyRemoval[] } {
  const parked = [...Object.values(after.entries).map((entry) => entry.parked), ...after.taken]
  const text = after.text + JSON.stringify(parked)
  const present = keysIn(gateway, text)
  const before = recordOf(ownership, target.config)
  const owned = before?.keys ?? keysByName(gateway, target, ownership.all())
  const removedKeys = owned
    .filter((id) => !present.has(id))
    .flatMap((id) => {
      const audit = gateway.removalOf(id, by)
      return audit ? [{ id, audit }] : []
    })
  const isWritten = newKey !== null && text.includes(newKey.key)
  return {
    keys: [...owned.filter((id) => present.has(id)), ...(isWritten ? [newKey.record.id] : [])],
    removedKeys,
  }
}

/** Earlier versions found the keys of a file by their name. Those that a record names belong to its file. */
function keysByName(gateway: GatewayKeys, target: ConfigTarget, records: readonly FileRecord[]): string[] {
  const recorded = new Set(records.flatMap(({ keys = [] }) => keys))
  return KINDS.flatMap((kind) => gateway.idsOf(target.agent.type, keyName(kind, target))).filter(
    (id) => !recorded.has(id),
  )
}
