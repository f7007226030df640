import { isObject } from '../kernel/is-object.ts'

/** A line of the agent. It is handed on as it came; what is read of it only decides how. */
export interface Message {
  readonly bytes: Buffer
  /** Undefined for a notification. An id of 0 is an id. */
  readonly id: string | number | undefined
  /** Undefined for the answer to something that a server asked. */
  readonly method: string | undefined
  readonly params: Readonly<Record<string, unknown>>
  /** The revision that a message of the modern era names in itself; undefined for one of the old days. */
  readonly modern: string | undefined
}
export interface Request extends Message {
  readonly id: string | number
  readonly method: string
}

/** Outside of what the protocol keeps for itself, but for the first two. */
export const CODES = {
  parse: -32_700,
  request: -32_600,
  key: -31_401,
  answer: -31_502,
  away: -31_503,
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
    throw new Unreadable(CODES.request, 'The line is not one JSON-RPC message; batches are not spoken here')
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

/** Undefined when it is no JSON; no JSON is undefined. */
export function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

/** 0 and '0' are two ids. */
export const idKey = (id: unknown): string => JSON.stringify(id) ?? ''

export const errorLine = (id: Message['id'] | null, code: number, message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error: { code, message } })

export const noteLine = (method: string, params?: object): string =>
  JSON.stringify({ jsonrpc: '2.0', method, ...(params && { params }) })

/** One line, whatever the JSON looked like. */
export const oneLine = (bytes: Buffer, value: unknown): Buffer | string =>
  bytes.includes(0x0a) || bytes.includes(0x0d) ? JSON.stringify(value) : bytes
