import { isIP } from 'node:net'
import { KnownSecrets } from '../../../kernel/secrets/known-secrets.ts'
import { maskText, secretsIn } from '../../../kernel/secrets/mask-secrets.ts'
import type { Network } from '../../../net/connection-pool.ts'
import { type RemoteCode, RemoteFailure } from '../../../net/http-failure.ts'
import type { ToolList } from '../../client/server-lists.ts'
import type { HttpTransportKind } from '../../client/transport.ts'
import { HttpMcpClient, type HttpMcpClientOptions } from './http-mcp-client.ts'

const STEPS = ['dns', 'tcp', 'tls', 'http', 'initialize', 'tools_list'] as const
type StepName = (typeof STEPS)[number]

export interface TestStep {
  readonly name: StepName
  readonly ok: boolean
  readonly ms: number
  readonly detail: string
}

export interface TestReport {
  readonly ok: boolean
  /** The duration of the whole test. */
  readonly latency_ms: number
  /**
   * In order. A failed step is the last. Steps that do not apply are left out: `dns` for an IP address, `tls` for http.
   */
  readonly steps: TestStep[]
  readonly transport: HttpTransportKind | null
  readonly protocol_version: string | null
  readonly server_info: Readonly<Record<string, unknown>> | null
  readonly tool_count: number | null
  readonly error: { readonly code: string; readonly message: string; readonly hint: string } | null
}

type Options = Pick<HttpMcpClientOptions, 'url' | 'headers' | 'transport' | 'version' | 'authorizer'> & {
  /** Called with what it lists. */
  readonly onTools?: HttpMcpClientOptions['onTools']
  readonly network?: Partial<Network>
  readonly timeoutMs?: number
}

const MARGIN_MS = 100

/** Connects once and reports each step. Never rejects, and takes at most `timeoutMs`. */
export async function testConnection({ timeoutMs = 10_000, ...options }: Options): Promise<TestReport> {
  const startedAt = performance.now()
  const reached = new Map<StepName, number>()
  const reach = (step: StepName) => reached.has(step) || reached.set(step, performance.now())
  let list: ToolList | undefined
  const proxy = proxyHost(options)
  const report = (client: HttpMcpClient | undefined, failure: RemoteFailure | undefined): TestReport => {
    const { handshake, transport } = client ?? {}
    const { code, message, hint } = failure ?? {}
    const steps = stepsOf({ url: options.url, proxy }, startedAt, reached, failure).map((step) => ({
      ...step,
      detail: step.ok ? detailOf(step.name, { url: options.url, proxy }, client, list) : (message ?? ''),
    }))
    return {
      ok: failure === undefined,
      latency_ms: rounded(steps.reduce((sum, { ms }) => sum + ms, 0)),
      steps,
      transport: transport === undefined || transport === 'stdio' ? null : transport,
      protocol_version: handshake?.protocol_version ?? null,
      server_info: handshake ? withoutSecrets(handshake.server_info, options) : null,
      tool_count: list?.tools.length ?? null,
      error: code && message && hint ? { code, message, hint } : null,
    }
  }
  let client: HttpMcpClient | undefined
  try {
    const onTools: HttpMcpClientOptions['onTools'] = (tools, ...about) => {
      list = tools
      reach('tools_list')
      options.onTools?.(tools, ...about)
    }
    client = new HttpMcpClient({ ...options, onTools, onReached: reach })
    await client.connect(Math.max(1, timeoutMs - Math.min(MARGIN_MS, timeoutMs / 10)))
    const result = report(client, client.listError)
    await client.close(Math.max(0, startedAt + timeoutMs - performance.now() - 1))
    return result
  } catch (error) {
    return report(client, error instanceof RemoteFailure ? error : invalidUrl())
  }
}

function invalidUrl(): RemoteFailure {
  return new RemoteFailure('protocol_error', 'The URL is invalid', 'Use an http or https URL')
}

interface Target {
  readonly url: string
  /** The host of the proxy in between. */
  readonly proxy: string | undefined
}

function proxyHost({ url, network }: Options): string | undefined {
  try {
    return network?.proxyFor?.(new URL(url))?.url.host
  } catch {
    return undefined // the request fails with the reason
  }
}

function stepsOf(
  target: Target,
  startedAt: number,
  reached: ReadonlyMap<StepName, number>,
  failure: RemoteFailure | undefined,
) {
  const steps: Omit<TestStep, 'detail'>[] = []
  const failed = failure && failedStep(target, reached, failure)
  let before = startedAt
  for (const name of STEPS) {
    const at = name === failed ? performance.now() : reached.get(name)
    if (at === undefined) continue
    steps.push({ name, ok: name !== failed, ms: rounded(Math.max(0, at - before)) })
    before = at
    if (name === failed) break
  }
  return steps
}

/** Failures that can occur in one step only. */
const STEP_OF: { readonly [code in RemoteCode]?: StepName } = {
  dns_failed: 'dns',
  connection_refused: 'tcp',
  connect_timeout: 'tcp',
  proxy_failed: 'tcp',
  tls_failed: 'tls',
  redirect_refused: 'http',
  too_many_redirects: 'http',
  http_error: 'http',
  not_found: 'http',
  auth_required: 'http',
  forbidden: 'http',
  rate_limited: 'http',
  unavailable: 'http',
}

function failedStep(
  { url, proxy }: Target,
  reached: ReadonlyMap<StepName, number>,
  { code }: RemoteFailure,
): StepName {
  if (reached.has('initialize')) return 'tools_list'
  const own = code === 'blocked_address' ? (isLiteral(url) ? 'tcp' : 'dns') : STEP_OF[code]
  if (own) return own
  const applies = STEPS.filter(
    (step) => (step !== 'dns' || !(proxy || isLiteral(url))) && (step !== 'tls' || isSecure(url)),
  )
  return applies.find((step) => !reached.has(step)) ?? 'tools_list'
}

function detailOf(
  step: StepName,
  { url, proxy }: Target,
  client: HttpMcpClient | undefined,
  list: ToolList | undefined,
): string {
  const { hostname, host } = new URL(url)
  const { handshake, transport } = client ?? {}
  switch (step) {
    case 'dns':
      return `${hostname} was resolved`
    case 'tcp':
      return proxy ? `The proxy ${proxy} accepts connections` : `${host} accepts connections`
    case 'tls':
      return `The certificate for ${host} is valid`
    case 'http':
      return `${host} answers over HTTP`
    case 'initialize':
      return `It supports MCP ${handshake?.protocol_version} over ${transport === 'sse' ? 'HTTP+SSE' : 'Streamable HTTP'}`
    case 'tools_list':
      return `It offers ${list?.tools.length} tool${list?.tools.length === 1 ? '' : 's'}`
  }
}

/** A server may repeat our secrets in its description. */
function withoutSecrets(info: Readonly<Record<string, unknown>>, { url, headers }: Options) {
  const secrets = new KnownSecrets()
  secrets.set('server', secretsIn({ url, headers }))
  try {
    return JSON.parse(maskText(secrets.redact(JSON.stringify(info))))
  } catch {
    return {} // nested too deeply to be serialized, or masking a secret broke the JSON
  }
}

const isLiteral = (url: string) =>
  URL.canParse(url) && isIP(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1')) !== 0
const isSecure = (url: string) => /^https:/i.test(url)
const rounded = (ms: number) => Math.round(ms * 10) / 10
