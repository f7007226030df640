import { KnownSecrets } from '../../../kernel/secrets/known-secrets.ts'
import { printableLine } from '../../../kernel/secrets/plain-text.ts'
import { maskText, secretsIn } from '../../../kernel/secrets/secrets.ts'
import type { Authorizer } from '../../../net/authorizer.ts'
import type { Network } from '../../../net/connection-pool.ts'
import { HttpClient, type Reached } from '../../../net/http-client.ts'
import { RemoteFailure, timeoutFailure, tooLarge } from '../../../net/http-failure.ts'
import { NotMcpError } from '../../client/handshake.ts'
import { type ClientEvents, McpClient } from '../../client/mcp-client.ts'
import type { HttpTransportKind } from '../../client/transport.ts'
import { CallFailure } from '../../protocol/call.ts'
import { MESSAGE_MAX_BYTES } from '../../protocol/line-splitter.ts'
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

interface Attempt {
  readonly host: string
  /** The request that failed. */
  readonly step: 'initialize' | 'tools/list'
  readonly timeoutMs: number
  readonly secrets: KnownSecrets
}

const HANDSHAKE_QUOTE_CHARS = 300

/** Why there is no connection. Text of the server is quoted with secrets masked. */
function explainHandshakeFailure(error: unknown, { host, step, timeoutMs, secrets }: Attempt): RemoteFailure {
  if (error instanceof RemoteFailure) return error
  const text = error instanceof Error ? error.message : String(error)
  const quote = printableLine(maskText(secrets.redact(text)), HANDSHAKE_QUOTE_CHARS) ?? 'no reason given'
  if (error instanceof NotMcpError) {
    const hint = 'Check that the URL is the endpoint of an MCP server, in a version that Toolroom supports'
    return new RemoteFailure('not_mcp', `${host} cannot be used: ${quote}`, hint)
  }
  if (!(error instanceof CallFailure)) {
    const hint = 'Check that the URL is the endpoint of an MCP server'
    return new RemoteFailure('protocol_error', `The handshake with ${host} failed: ${quote}`, hint)
  }
  switch (error.reason) {
    case 'timeout':
      return timeoutFailure(host, `answer ${step}`, timeoutMs)
    case 'too_large':
      return tooLarge(host, `The response to ${step}`, MESSAGE_MAX_BYTES)
    case 'closed':
    case 'cancelled':
    case 'busy': {
      const hint = "Try again. If it happens repeatedly, check the server's log"
      return new RemoteFailure('connection_reset', `The connection to ${host} ended during ${step}`, hint)
    }
    case 'remote': {
      const hint = 'Check the headers and settings that this server requires; its log may have details'
      return new RemoteFailure('protocol_error', `${host} rejected ${step}: ${quote}`, hint)
    }
  }
}
