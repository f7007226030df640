import { KnownSecrets } from '../../../kernel/secrets/known-secrets.ts'
import { secretsIn } from '../../../kernel/secrets/mask-secrets.ts'
import type { Authorizer } from '../../../net/authorizer.ts'
import type { Network } from '../../../net/connection-pool.ts'
import { HttpClient, type Reached } from '../../../net/http-client.ts'
import type { RemoteFailure } from '../../../net/http-failure.ts'
import { type ClientEvents, McpClient } from '../../client/mcp-client.ts'
import type { HttpTransportKind } from '../../client/transport.ts'
import { CallFailure } from '../../protocol/call-failure.ts'
import { explainHandshakeFailure } from './explain-handshake-failure.ts'
import { type Known, negotiateTransport } from './negotiate-transport.ts'

export interface HttpMcpClientOptions extends ClientEvents {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly transport: 'auto' | HttpTransportKind
  /** Toolroom's version, for the handshake. */
  readonly version: string
  /** Transport and protocol version of the last connection, which are tried first. */
  readonly known?: Known | null
  /** Called for each step of the connection as it succeeds. */
  readonly onReached?: (what: Reached | 'initialize') => void
  readonly network?: Partial<Network>
  /** Of the login at the server. */
  readonly authorizer?: Authorizer | undefined
}

const LIST_MS = 30_000
const CLOSE_MS = 1000

/** The client of an HTTP server. */
export class HttpMcpClient extends McpClient {
  readonly #host: string
  readonly #http: HttpClient
  readonly #secrets = new KnownSecrets()
  #timeoutMs = LIST_MS

  /** Throws when the URL is invalid. */
  constructor({
    url: address,
    headers,
    transport,
    version,
    known = null,
    onReached,
    network,
    authorizer,
    ...events
  }: HttpMcpClientOptions) {
    const url = new URL(address)
    const client = new HttpClient({
      url,
      headers,
      userAgent: `toolroom/${version}`,
      network,
      authorizer,
      onReached,
    })
    super({
      ...events,
      version,
      listTimeoutMs: LIST_MS,
      open: async (transportEvents, timeoutMs) => {
        const options = { client, url, version, secrets: this.#secrets, transport, known, ...transportEvents }
        const connected = await negotiateTransport(options, timeoutMs)
        onReached?.('initialize')
        return connected
      },
    })
    this.#host = url.host
    this.#http = client
    this.#secrets.set('server', secretsIn({ url: address, headers }))
  }

  /** Rejects with a RemoteFailure, after everything has been closed. */
  override async connect(timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs
    this.#timeoutMs = timeoutMs
    try {
      await super.connect(timeoutMs)
    } catch (error) {
      const step = this.handshake === undefined ? 'initialize' : 'tools/list'
      await this.close(Math.min(CLOSE_MS, Math.max(0, deadline - performance.now())))
      throw explainHandshakeFailure(error, { host: this.#host, step, timeoutMs, secrets: this.#secrets })
    }
  }

  /** Why the tools of a connected server could not be listed. */
  get listError(): RemoteFailure | undefined {
    const error = this.listFailure
    const [host, timeoutMs, secrets] = [this.#host, this.#timeoutMs, this.#secrets]
    return error && explainHandshakeFailure(error, { host, step: 'tools/list', timeoutMs, secrets })
  }

  override async close(timeoutMs = CLOSE_MS): Promise<void> {
    await super.close(timeoutMs)
    this.#http.close(new CallFailure('closed', 'The connection was closed'))
  }
}
