import { type ClientRequest, request as requestHttp } from 'node:http'
import { type AgentOptions, Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { CONNECT_MS, networkFailure, proxyRefusal } from './network-failure.ts'
import { type HttpProxy, requestToProxy } from './proxy.ts'

type Connect = HttpsAgent['createConnection']

/** Connections to one https origin, each through a CONNECT tunnel that the proxy opens. */
export class TunnelAgent extends HttpsAgent {
  readonly #target: URL
  readonly #proxy: HttpProxy
  readonly #opening = new Set<ClientRequest>()

  constructor(target: URL, proxy: HttpProxy, options: AgentOptions) {
    super(options)
    this.#target = target
    this.#proxy = proxy
  }

  override createConnection(...[options, callback]: Parameters<Connect>): ReturnType<Connect> {
    const fail = (error: Error) => callback?.(error, undefined as never) // Node passes no stream with an error
    const target = `${this.#target.hostname}:${this.#target.port || 443}`
    const { lookup, ca } = this.options
    const request = this.#proxy.url.protocol === 'https:' ? requestHttps : requestHttp
    const own = { method: 'CONNECT', path: target, agent: false, lookup, ca } as const
    const sent = request({ ...requestToProxy(this.#proxy, target), ...own })
    this.#opening.add(sent)
    const timer = setTimeout(
      () => sent.destroy(Object.assign(new Error(), { code: 'ETIMEDOUT' })),
      CONNECT_MS,
    )
    sent.once('close', () => {
      clearTimeout(timer)
      this.#opening.delete(sent)
    })
    sent.once('error', (error) => fail(networkFailure(error, this.#target, 'connect', this.#proxy)))
    sent.once('connect', ({ statusCode = 0 }, socket, head) => {
      clearTimeout(timer)
      if (statusCode < 200 || statusCode > 299) {
        socket.destroy()
        return fail(proxyRefusal(statusCode, this.#target, this.#proxy))
      }
      if (head.length > 0) socket.unshift(head)
      const tunnel = super.createConnection({ ...options, socket } as typeof options)
      if (tunnel) callback?.(null, tunnel)
    })
    sent.end()
    return undefined
  }

  override destroy(): void {
    for (const sent of this.#opening) sent.destroy()
    super.destroy()
  }
}
