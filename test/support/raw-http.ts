import { connect } from 'node:net'

/** A raw HTTP response, read from a socket without a client library. */
export interface RawAnswer {
  readonly status: number
  /** The header lines in lower case, without the status line. */
  readonly head: string
  readonly body: string
  header(name: string): string | undefined
}

interface Target {
  readonly port: number
  readonly host?: string
}

const PATIENCE_MS = 60_000

/**
 * Sends the bytes over its own connection and reads until the service closes it. With `end` the connection is half-closed,
 * so that the service does not wait for the rest of an incomplete request.
 */
export function rawAnswer(target: Target, bytes: string | Buffer, end = false): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', ...target })
    const parts: Buffer[] = []
    socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error(`no response within ${PATIENCE_MS} ms`)))
    socket.on('data', (part) => {
      parts.push(part)
      if (parts[0]?.includes('HTTP/1.1 101')) socket.destroy() // an upgraded connection never ends
    })
    // A service that refuses early closes the connection while we still send; what was read before counts.
    socket.on('error', (error) => (parts.length > 0 ? undefined : reject(error)))
    socket.on('close', () => resolve(parseAnswer(Buffer.concat(parts))))
    if (end) socket.end(bytes)
    else socket.write(bytes)
  })
}

/** The head of a request with one `name: value` line per header; the connection is closed after the response. */
export function requestBytes(
  method: string,
  path: string,
  headers: readonly (readonly [name: string, value: string])[],
  body = '',
): string {
  const lines = [...headers, ...(body === '' ? [] : [['Content-Length', String(Buffer.byteLength(body))]])]
  const upgrade = headers.some(([name]) => name === 'Upgrade')
  const connection = upgrade ? 'Upgrade' : 'close'
  const head = [...lines, ['Connection', connection]].map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n${body}`
}

/** Runs the work for every item, with limited concurrency. */
export async function inParallel<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values()
  const lane = async () => {
    for (const item of waiting) await work(item)
  }
  await Promise.all(Array.from({ length: width }, lane))
}

export function parseAnswer(bytes: Buffer): RawAnswer {
  const text = bytes.toString('utf8')
  const end = text.indexOf('\r\n\r\n')
  const [statusLine = '', ...lines] = (end < 0 ? text : text.slice(0, end)).split('\r\n')
  const headers = new Map(lines.map((line) => [nameOf(line), line.slice(line.indexOf(':') + 1).trim()]))
  return {
    status: Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1] ?? 0),
    head: lines.join('\n').toLowerCase(),
    body: end < 0 ? '' : bodyIn(text.slice(end + 4), headers.get('content-length')),
    header: (name) => headers.get(name.toLowerCase()),
  }
}

/** The body without a following response. */
function bodyIn(text: string, length: string | undefined): string {
  return length === undefined ? text : Buffer.from(text).subarray(0, Number(length)).toString()
}

const nameOf = (line: string): string => line.slice(0, line.indexOf(':')).toLowerCase()
