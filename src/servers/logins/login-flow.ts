import { createHash } from 'node:crypto'
import type { Network } from '../../net/connection-pool.ts'
import { beginAuthorization } from '../../net/oauth/authorization.ts'
import { discoverIssuer } from '../../net/oauth/discover-issuer.ts'
import { discoverResource, type ResourceInfo } from '../../net/oauth/discover-resource.ts'
import { needsProof, newProofKey } from '../../net/oauth/dpop.ts'
import type { IssuerInfo } from '../../net/oauth/issuer-metadata.ts'
import {
  documentClient,
  givenClient,
  type OAuthClient,
  registerClient,
} from '../../net/oauth/oauth-clients.ts'
import { OAuthFailure } from '../../net/oauth/oauth-failure.ts'
import { OAuthHttp } from '../../net/oauth/oauth-http.ts'
import { chooseScopes, scopesIn } from '../../net/oauth/scopes.ts'
import { clientCredentials } from '../../net/oauth/tokens.ts'
import type { Challenge } from '../../net/oauth/www-authenticate.ts'
import type { LoginRecord, LoginServer, LoginStore, Registration } from './login-record.ts'
import { bindingOf } from './login-record.ts'
import { LOGIN_MS, newId, type PendingLogin } from './pending-logins.ts'

export interface FlowDeps {
  readonly store: Pick<LoginStore, 'client' | 'saveClient' | 'removeClient'>
  readonly network: Partial<Network>
  readonly version: string
  readonly now: () => number
  /** The origins of this service, which discovery must never reach. */
  readonly ownOrigins: () => readonly string[]
  /** The address at which a browser of this computer reaches the service: `http://127.0.0.1:8665`. */
  readonly address: () => string
  readonly publicUrl: () => string | null
  readonly clientMetadataUrl: () => string | null
}

/** Where a server's tokens come from. */
export interface Discovered {
  readonly resource: ResourceInfo
  readonly issuer: IssuerInfo
}

interface LoginRequest {
  readonly challenge: Challenge | undefined
  readonly record: LoginRecord | undefined
  /** Replace the discovered scopes. */
  readonly scopes: readonly string[] | undefined
  readonly isFresh: boolean
  /** The issuer has refused `offline_access`. */
  readonly withoutOffline: boolean
}

const CALLBACK_PATH = '/oauth/callback'

/** The steps of a login up to the browser. */
export class LoginFlow {
  readonly #deps: FlowDeps
  /** Registrations that were used for a login which the issuer never answered: it may have forgotten the client. */
  readonly #unanswered = new Set<string>()

  constructor(deps: FlowDeps) {
    this.#deps = deps
  }

  /** Of given clients, which have one issuer each, and of a metadata document. */
  redirectUri({ oauth }: LoginServer): string {
    const base = new URL(this.#deps.publicUrl() ?? this.#deps.address())
    if (this.#deps.publicUrl() === null) base.hostname = oauth?.redirect_host ?? '127.0.0.1'
    return new URL(base.pathname.replace(/\/$/, '') + CALLBACK_PATH, base).href
  }

  /**
   * What a client is registered for. Each issuer has a redirect URI of its own: otherwise a hostile issuer that sends no
   * `iss` could get the code of another one (RFC 9700, 4.4).
   */
  registration(server: LoginServer, issuer: IssuerInfo, resource: string | null): Registration {
    const redirectUri = `${this.redirectUri(server)}/${placeOfIssuer(issuer)}`
    return { issuer: issuer.issuer, redirectUri, resource: resource ?? server.url }
  }

  /** Requests to the issuer of one server, closed at the end. */
  async using<T>(server: LoginServer, work: (http: OAuthHttp) => Promise<T>): Promise<T> {
    const { network, version, ownOrigins } = this.#deps
    const http = new OAuthHttp({ serverUrl: new URL(server.url), network, version, ownOrigins })
    try {
      return await work(http)
    } finally {
      http.close()
    }
  }

  async discover(
    http: OAuthHttp,
    server: LoginServer,
    { challenge, record }: Pick<LoginRequest, 'challenge' | 'record'>,
  ): Promise<Discovered> {
    const resource = await discoverResource(http, new URL(server.url), challenge)
    const { issuers, isLegacy } = resource
    const usual = issuers.find((each) => each === record?.issuer.issuer) ?? issuers[0] ?? ''
    const browser = server.oauth?.grant !== 'client_credentials'
    const issuer = await discoverIssuer(http, server.oauth?.issuer ?? usual, { isLegacy, browser })
    return { resource, issuer }
  }

  /** Finds the issuer, gets a client and makes the URL for the browser. */
  async begin(server: LoginServer, request: LoginRequest): Promise<PendingLogin> {
    return this.using(server, async (http) => {
      const { resource, issuer } = await this.discover(http, server, request)
      const scopes = this.scopesFor(server, request, resource, issuer)
      const registration = this.registration(server, issuer, resource.resource)
      const client = await this.#clientFor(http, {
        server,
        issuer,
        registration,
        scopes,
        isFresh: request.isFresh,
      })
      if (client.kind === 'given') assertSameIssuer(request.record, issuer)
      const redirect_uri = client.kind === 'registered' ? registration.redirectUri : this.redirectUri(server)
      const { url, state, verifier } = await beginAuthorization({
        issuer,
        client,
        redirectUri: redirect_uri,
        scopes,
        resource: resource.resource,
      })
      return {
        server_id: server.id,
        binding: bindingOf(server),
        authorization_url: url,
        state,
        verifier,
        issuer,
        client,
        redirect_uri,
        resource: resource.resource,
        scopes,
        dpop_key: needsProof(request.challenge, issuer) ? newProofKey() : undefined,
        cookie: newId(),
        needs_confirmation: false,
        expires_at: this.#deps.now() + LOGIN_MS,
      }
    })
  }

  scopesFor(
    { oauth }: LoginServer,
    { challenge, record, scopes: given, withoutOffline }: Omit<LoginRequest, 'isFresh'>,
    resource: ResourceInfo,
    issuer: IssuerInfo,
  ): string[] {
    return chooseScopes({
      configured: given ?? oauth?.scopes ?? null,
      challenge: scopesIn(challenge?.params.scope),
      resource: resource.scopes,
      askedBefore: record?.tokens ? record.asked : [],
      issuer,
      offline: !withoutOffline,
    })
  }

  /** Tokens without a person. */
  async obtain(
    server: LoginServer,
    challenge: Challenge | undefined,
  ): Promise<Omit<LoginRecord, 'step_ups'>> {
    return this.using(server, async (http) => {
      const { resource, issuer } = await this.discover(http, server, { challenge, record: undefined })
      const request = { challenge, record: undefined, scopes: undefined, withoutOffline: true }
      const asked = this.scopesFor(server, request, resource, issuer)
      const client = givenIn(server, issuer)
      if (!client) throw new OAuthFailure('client_needed', 'No client is configured', 'Set oauth.client_id')
      const tokens = await clientCredentials({
        http,
        issuer,
        client,
        scopes: asked,
        resource: resource.resource,
        dpopKey: needsProof(challenge, issuer) ? newProofKey() : undefined,
      })
      const common = {
        server_id: server.id,
        binding: bindingOf(server),
        issuer,
        client,
        asked,
        tokens,
        challenge,
      }
      return {
        ...common,
        resource: resource.resource,
        obtained_at: this.#deps.now(),
        problem: null,
        isRefused: false,
      }
    })
  }

  /** The issuer knows the client: it has sent the browser back. */
  answered({ server_id, issuer }: PendingLogin): void {
    this.#unanswered.delete(JSON.stringify([server_id, issuer.issuer]))
  }

  async #clientFor(
    http: OAuthHttp,
    { server, issuer, registration, scopes, isFresh }: ClientRequest,
  ): Promise<OAuthClient> {
    const given = givenIn(server, issuer)
    if (given) return given
    const document = this.#deps.clientMetadataUrl()
    if (document && issuer.client_id_metadata_document_supported) return documentClient(document)
    const { store, now } = this.#deps
    const place = JSON.stringify([server.id, issuer.issuer])
    const kept = store.client(registration)
    const isKept = kept !== undefined && (kept.secret_expires_at ?? Number.POSITIVE_INFINITY) > now()
    const all = [...new Set([...(kept?.scopes ?? []), ...scopes])] // another server may have the same URL
    const hasAll = all.length === (kept?.scopes?.length ?? 0)
    if (isKept && hasAll && !isFresh && !this.#unanswered.has(place)) {
      this.#unanswered.add(place)
      return kept
    }
    const { redirectUri } = registration
    const givenRedirectUri = this.redirectUri(server)
    const registered = await registerClient(http, issuer, { redirectUri, scopes: all, givenRedirectUri })
    const client = { ...registered, scopes: all }
    await store.saveClient(registration, client)
    this.#unanswered.delete(place)
    return client
  }
}

interface ClientRequest {
  readonly server: LoginServer
  readonly issuer: IssuerInfo
  readonly registration: Registration
  readonly scopes: readonly string[]
  readonly isFresh: boolean
}

/** The last part of the redirect URI of an issuer. */
const placeOfIssuer = ({ issuer }: IssuerInfo): string =>
  createHash('sha256').update(issuer).digest('base64url').slice(0, 22)

/** The same of a redirect URI, or of the address to which a browser was sent. Null: it is for given clients. */
export const placeIn = (url: string): string | null =>
  URL.canParse(url) ? (/\/oauth\/callback\/([\w-]+)$/.exec(new URL(url).pathname)?.[1] ?? null) : null

/** All given clients have one redirect URI, so each keeps the issuer of its first login. */
function assertSameIssuer(record: LoginRecord | undefined, { issuer }: IssuerInfo): void {
  if (record === undefined || record.issuer.issuer === issuer) return
  const message = `The server names another issuer now: ${issuer} instead of ${record.issuer.issuer}`
  throw new OAuthFailure('issuer_mismatch', message, 'If that is right, set oauth.issuer of the server')
}

function givenIn({ oauth }: LoginServer, issuer: IssuerInfo): OAuthClient | undefined {
  return oauth?.client_id === undefined
    ? undefined
    : givenClient({ ...oauth, client_id: oauth.client_id }, issuer)
}
