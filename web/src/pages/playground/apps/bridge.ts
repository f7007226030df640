import { type CallTarget, runCall } from '../../../data/playground/run-call.ts'
import { isObject } from '../form/schema.ts'

/** What the page of a server may ask its host for (MCP Apps), as JSON-RPC over postMessage. */

export interface AppCall {
  readonly key: number
  readonly tool: string
  readonly args: string
  readonly state: 'running' | 'done' | 'failed' | 'cancelled'
  readonly startedAt: number
  readonly endedAt?: number
  readonly cancel: () => void
}

interface Options {
  readonly frame: HTMLIFrameElement
  readonly target: CallTarget
  /** The arguments and the result that the page is shown for. */
  readonly input: unknown
  readonly result: unknown
  readonly theme: string
  readonly onCall: (call: AppCall) => void
  readonly onHeight: (height: number) => void
  /** The page asks to open a link. The user decides. */
  readonly onLink: (url: string) => void
}
type Params = Readonly<Record<string, unknown>>

const VERSION = '2026-01-26'
const MOST_RUNNING = 10
const [UNKNOWN_METHOD, WRONG_PARAMS, REFUSED] = [-32601, -32602, -32000]

class Refusal extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** Speaks with the page until the returned function is called, which also cancels what the page has started. */
export function openBridge(options: Options): () => void {
  const { frame } = options
  const running = new Set<AbortController>()
  let calls = 0
  // The page has an origin of its own, without a name, so no other can be given.
  const send = (message: object) => frame.contentWindow?.postMessage({ jsonrpc: '2.0', ...message }, '*')

  async function answer(method: string, params: Params): Promise<unknown> {
    switch (method) {
      case 'ping':
        return {}
      case 'ui/initialize':
        return {
          protocolVersion: VERSION,
          hostInfo: { name: 'Toolroom', version: VERSION },
          hostCapabilities: { openLinks: {}, serverTools: {}, logging: {} },
          hostContext: { theme: options.theme, displayMode: 'inline', availableDisplayModes: ['inline'] },
        }
      case 'ui/request-display-mode':
        return { mode: 'inline' }
      case 'ui/open-link':
        if (typeof params.url !== 'string' || !/^https?:\/\//.test(params.url))
          throw new Refusal(WRONG_PARAMS, 'url must begin with https:// or http://')
        options.onLink(params.url)
        return {}
      case 'tools/call':
        return callTool(params)
      default:
        throw new Refusal(UNKNOWN_METHOD, `Method not found: ${method.slice(0, 100)}`)
    }
  }

  async function callTool({ name, arguments: args = {} }: Params): Promise<unknown> {
    if (typeof name !== 'string' || !isObject(args))
      throw new Refusal(WRONG_PARAMS, 'name or arguments are wrong')
    if (running.size >= MOST_RUNNING) throw new Refusal(REFUSED, `At most ${MOST_RUNNING} calls at once`)
    const abort = new AbortController()
    running.add(abort)
    calls += 1
    const started = { key: calls, tool: name, args: JSON.stringify(args), startedAt: Date.now() }
    const say = (state: AppCall['state']) =>
      options.onCall({
        ...started,
        state,
        cancel: () => abort.abort(),
        ...(state !== 'running' && { endedAt: Date.now() }),
      })
    say('running')
    try {
      const json = await runCall({ ...options.target, tool: name }, started.args, { signal: abort.signal })
      say('done')
      return JSON.parse(json)
    } catch (error) {
      say(abort.signal.aborted ? 'cancelled' : 'failed')
      throw new Refusal(REFUSED, abort.signal.aborted ? 'The user cancelled the call' : String(error))
    } finally {
      running.delete(abort)
    }
  }

  const onMessage = ({ source, data }: MessageEvent<unknown>) => {
    if (source !== frame.contentWindow || !isObject(data) || typeof data.method !== 'string') return
    const { id, method } = data
    const params = isObject(data.params) ? data.params : {}
    if (id === undefined) return notified(method, params)
    answer(method, params).then(
      (result) => send({ id, result }),
      (error: unknown) => {
        const code = error instanceof Refusal ? error.code : REFUSED
        send({ id, error: { code, message: error instanceof Error ? error.message : String(error) } })
      },
    )
  }

  function notified(method: string, params: Params): void {
    if (method === 'ui/notifications/size-changed' && typeof params.height === 'number')
      options.onHeight(params.height)
    if (method !== 'ui/notifications/initialized') return
    send({ method: 'ui/notifications/tool-input', params: { arguments: options.input } })
    send({ method: 'ui/notifications/tool-result', params: options.result })
  }

  window.addEventListener('message', onMessage)
  return () => {
    window.removeEventListener('message', onMessage)
    for (const abort of running) abort.abort()
  }
}
