import type { AuditEntry } from '../../kernel/fact-bus.ts'
import type { IssuerInfo } from '../../net/oauth/issuer-metadata.ts'
import type { OAuthClient } from '../../net/oauth/oauth-clients.ts'
import type { TokenSet } from '../../net/oauth/tokens.ts'
import type { Challenge } from '../../net/oauth/www-authenticate.ts'
import type { OAuthConfig } from './oauth-settings.ts'

/** An HTTP server as logins see it, with its references resolved. */
export interface LoginServer {
  readonly id: string
  readonly name: string
  readonly url: string
  readonly oauth: OAuthConfig | undefined
  /** A configured Authorization header wins over a login. */
  readonly hasHeader: boolean
}

export interface LoginProblem {
  readonly code: string
  readonly message: string
  readonly hint: string | null
}

/** A login at one server, as it is stored. */
export interface LoginRecord {
  readonly server_id: string
  /** What the tokens were issued for. If the server's definition changes it, they are dropped. */
  readonly binding: string
  readonly issuer: IssuerInfo
  readonly client: OAuthClient
  readonly resource: string | null
  /** Where the server's metadata is, and what else it said when it asked for this login. */
  readonly challenge?: Challenge | undefined
  /** The scopes that were asked for. */
  readonly asked: readonly string[]
  /** Null after the login has ended. */
  readonly tokens: TokenSet | null
  readonly obtained_at: number
  /** Why the login has ended, or why it was refused. */
  readonly problem: LoginProblem | null
  readonly isRefused: boolean
  /** Logins for more scopes that did not help. */
  readonly step_ups: number
}

/** The stored logins and registered clients. `store/` provides it. */
export interface LoginStore {
  all(): readonly LoginRecord[]
  find(serverId: string): LoginRecord | undefined
  save(record: LoginRecord, audit: AuditEntry | null): Promise<void>
  remove(serverId: string, audit: AuditEntry): Promise<void>
  /** Its row is gone with the server's. */
  forget(serverId: string): void
  client(registration: Registration): OAuthClient | undefined
  saveClient(registration: Registration, client: OAuthClient): Promise<void>
  removeClient(registration: Registration): Promise<void>
}

/** What a client was registered for. An issuer may give all tokens of one client the same rights, so each resource has its own. */
export interface Registration {
  readonly issuer: string
  readonly redirectUri: string
  readonly resource: string
}

/** Tokens belong to this origin and path, this pinned issuer and this client. */
export function bindingOf({ url, oauth }: LoginServer): string {
  const { origin, pathname } = new URL(url)
  return JSON.stringify([
    origin + pathname,
    oauth?.issuer ?? null,
    oauth?.client_id ?? null,
    oauth?.grant ?? null,
  ])
}

export const secretsOf = ({ tokens, client }: Pick<LoginRecord, 'tokens' | 'client'>): string[] =>
  [tokens?.access_token, tokens?.refresh_token, tokens?.dpop_key?.d, client.client_secret].filter(
    (secret): secret is string => typeof secret === 'string',
  )

/** How a login ended, for the page that the browser shows. */
export interface LoginOutcome {
  /** Names the outcome in the address of that page. */
  readonly id: string
  readonly server_id: string
  readonly server_name: string
  readonly ok: boolean
  /** The number of tools, when the server could be connected. */
  readonly tools: number | null
  /** As far as the issuer names it. */
  readonly account: string | null
  /** Its tokens are not used before a person has confirmed the account. */
  readonly unconfirmed: boolean
  /** Why the login failed, or why the server could not be connected after it. */
  readonly problem: LoginProblem | null
}
