import { isObject } from '../../kernel/json/json-checks.ts'
import { headerText, nameParamOf } from '../../mcp/protocol/mcp-headers.ts'

/** A line from the agent. Its bytes are forwarded unchanged; the other fields decide how. */
export interface Message {
  readonly bytes: Buffer
  /** Undefined for a notification. 0 is a valid id. */
  readonly id: string | number | undefined
  /** Undefined for a response. */
  readonly method: string | undefined
  readonly params: Readonly<Record<string, unknown>>
  /** The protocol version in `_meta` of a modern message; undefined for a legacy one. */
  readonly modern: string | undefined
}
export interface Request extends Message {
  readonly id: string | number
  readonly method: string
}

/** The last three are outside the range that JSON-RPC reserves. */
export const CODES = {
  parse: -32_700,
  request: -32_600,
  key: -31_401,
  answer: -31_502,
  unavailable: -31_503,
} as const

export class Unreadable extends Error {
  override readonly name = 'Unreadable'
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

const META = 'io.modelcontextprotocol/'

export function readMessage(bytes: Buffer): Message {
  const message = parsed(bytes)
  if (message === undefined) throw new Unreadable(CODES.parse, 'The line is not JSON')
  if (!isObject(message))
    throw new Unreadable(
      CODES.request,
      'The line is not a single JSON-RPC message; batches are not supported',
    )
  const { id, method, params } = message
  const given = isObject(params) ? params : {}
  const version = isObject(given._meta) ? given._meta[`${META}protocolVersion`] : undefined
  return {
    bytes,
    id: typeof id === 'string' || typeof id === 'number' ? id : undefined,
    method: typeof method === 'string' ? method : undefined,
    params: given,
    modern: typeof version === 'string' ? version : undefined,
  }
}

export const isRequest = (message: Message): message is Request =>
  message.id !== undefined && message.method !== undefined

/** Undefined if it is not JSON. */
export function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Distinguishes the ids 0 and '0'. */
export const idKey = (id: unknown): string => JSON.stringify(id) ?? ''

export const errorLine = (id: Message['id'] | null, code: number, message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error: { code, message } })

export const notificationLine = (method: string, params?: object): string =>
  JSON.stringify({ jsonrpc: '2.0', method, ...(params && { params }) })

/** Valid JSON without its line breaks, which are between tokens. */
export const oneLine = (bytes: Buffer): Buffer | string =>
  bytes.includes(0x0a) || bytes.includes(0x0d) ? bytes.toString('utf8').replaceAll(/[\r\n]+/g, '') : bytes

/** A legacy agent's session. */
export interface Session {
  readonly id: string
  /** Empty if the response to `initialize` did not contain one. */
  readonly version: string
}

/** The MCP headers for a message: from its own content if it is modern, from its session otherwise. */
export function headersOf(message: Message, session: Session | undefined): Record<string, string> {
  const { modern, method = '', params } = message
  const always = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  if (modern === undefined)
    return { ...always, ...(session && method !== 'initialize' && sessionHeaders(session)) }
  const name = params[nameParamOf(method) ?? '']
  return {
    ...always,
    'mcp-protocol-version': headerText(modern),
    'mcp-method': headerText(method),
    ...(typeof name === 'string' && { 'mcp-name': headerText(name) }),
  }
}

export const sessionHeaders = ({ id, version }: Session): Record<string, string> => ({
  'mcp-session-id': id,
  ...(version !== '' && { 'mcp-protocol-version': headerText(version) }),
})
