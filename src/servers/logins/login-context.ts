import type { AuditEntry, FactBus } from '../../kernel/fact-bus.ts'
import type { KnownSecrets } from '../../kernel/secrets/known-secrets.ts'
import type { FlowDeps, LoginFlow } from './login-flow.ts'
import { type LoginProblem, type LoginServer, type LoginStore, secretsOf } from './login-record.ts'
import type { PendingLogin, PendingLogins } from './pending-logins.ts'
import type { ServerLogin } from './server-login.ts'

export interface LoginDeps extends FlowDeps {
  readonly store: LoginStore
  readonly facts: FactBus
  readonly secrets: KnownSecrets
  readonly audit: (entry: AuditEntry) => Promise<void>
  /** The server with this id or name, its references resolved. Throws when there is none. */
  readonly server: (key: string) => Promise<LoginServer>
  /** The server as it is stored. */
  readonly stored: (id: string) => Pick<LoginServer, 'oauth' | 'hasHeader'> | undefined
  /** Connects to the server now. */
  readonly connect: (
    id: string,
  ) => Promise<{ readonly tools: number | null; readonly problem: LoginProblem | null }>
  readonly warn: (details: object, message: string) => void
}

/** What the parts of `Logins` share. */
export interface LoginContext {
  readonly deps: LoginDeps
  readonly flow: LoginFlow
  readonly pending: PendingLogins
  /** The login at one server. */
  readonly of: (serverId: string) => ServerLogin
  /** Publishes the state of a login. */
  readonly changed: (serverId: string) => void
}

/** Nothing of a pending login appears in a log line. */
export function hidePending({ deps }: LoginContext, pending: PendingLogin, code?: string): void {
  const { server_id, state, verifier, client, dpop_key } = pending
  const record = deps.store.find(server_id)
  const kept = record ? secretsOf(record) : []
  const own = [state, verifier, client.client_secret, dpop_key?.d, code].filter(
    (secret) => secret !== undefined,
  )
  deps.secrets.set(secretsOwner(server_id), [...kept, ...own])
}

export const secretsOwner = (serverId: string): string => `login:${serverId}`
