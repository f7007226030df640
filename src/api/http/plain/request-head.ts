const HEAD_END = Buffer.from('\r\n\r\n')
/** node:http has the same limit. */
export const MAX_HEAD_BYTES = 16_384
/** Larger bodies are left to node:http, because then the key is checked before the body is read. */
const MAX_BODY_BYTES = 512 * 1024
/** One line per header, in printable ASCII. Linear: each part ends at a character that it cannot contain. */
const HEAD = /^POST (\/[!-~]*) HTTP\/1\.1(?:\r\n[A-Za-z0-9-]+:[\t -~]*)+$/
const LENGTH = 'content-length'
const DIGITS = /^ ?\d{1,8}$/
const MAX_DIGITS = 8
/** Headers that change how a request is read or answered. */
const SPECIAL = ['transfer-encoding', 'expect', 'upgrade', 'trailer', 'te', 'http2-settings'] as const

/** All of the head but its content-length: that is in `start` and `end`. */
export interface RequestHead {
  readonly url: string
  /** The same object for requests that have the same head. */
  readonly headers: Readonly<Record<string, string>>
  readonly rawHeaders: readonly string[]
  /** Where the body begins, and where it ends. */
  readonly start: number
  readonly end: number
}

/** A head, and its bytes before and after the digits of the length. */
interface Known {
  readonly head: RequestHead
  readonly before: Buffer
  readonly after: Buffer
}

/**
 * Reads the heads of the requests of one connection. Most differ from the one before in nothing but their length: they are
 * compared with it and not parsed again.
 */
export class RequestHeads {
  #last: Known | undefined

  /**
   * The head of a request, if it is plain: a POST over HTTP/1.1 with a length, no header twice, and nothing that two parsers
   * could read in different ways. Undefined otherwise, and if the head is not complete: then node:http reads the bytes.
   */
  read(bytes: Buffer): RequestHead | undefined {
    return (this.#last && sameHead(this.#last, bytes)) ?? this.#parse(bytes)
  }

  #parse(bytes: Buffer): RequestHead | undefined {
    const headEnd = bytes.indexOf(HEAD_END)
    if (headEnd === -1 || headEnd > MAX_HEAD_BYTES) return undefined
    const text = bytes.toString('latin1', 0, headEnd)
    const url = HEAD.exec(text)?.[1]
    if (url === undefined) return undefined
    const headers: Record<string, string> = Object.create(null)
    const rawHeaders: string[] = []
    let lengthAt = 0
    let length = ''
    for (let from = text.indexOf('\r\n') + 2; from > 1; ) {
      const next = text.indexOf('\r\n', from)
      const colon = text.indexOf(':', from)
      const rawName = text.slice(from, colon)
      const name = rawName.toLowerCase()
      const rawValue = text.slice(colon + 1, next === -1 ? headEnd : next)
      const value = rawValue.trim()
      if (name === LENGTH) {
        if (lengthAt > 0 || !DIGITS.test(rawValue)) return undefined
        lengthAt = text.indexOf(value, colon)
        length = value
      } else {
        if (headers[name] !== undefined) return undefined
        headers[name] = value
        rawHeaders.push(rawName, value)
      }
      from = next === -1 ? -1 : next + 2
    }
    if (lengthAt === 0 || !keepsAlive(headers.connection)) return undefined
    for (const name of SPECIAL) if (headers[name] !== undefined) return undefined
    const start = headEnd + HEAD_END.length
    const head = withLength({ url, headers, rawHeaders }, start, Number(length))
    if (head) {
      const before = Buffer.from(bytes.subarray(0, lengthAt))
      this.#last = { head, before, after: Buffer.from(bytes.subarray(lengthAt + length.length, start)) }
    }
    return head
  }
}

/** Undefined when the bytes begin with another head. */
function sameHead({ head, before, after }: Known, bytes: Buffer): RequestHead | undefined {
  const lengthAt = before.length
  if (bytes.length < lengthAt || bytes.compare(before, 0, lengthAt, 0, lengthAt) !== 0) return undefined
  let length = 0
  let at = lengthAt
  for (let digit = digitAt(bytes, at); digit >= 0; digit = digitAt(bytes, at)) {
    length = length * 10 + digit
    at += 1
    if (at - lengthAt > MAX_DIGITS) return undefined
  }
  const start = at + after.length
  if (at === lengthAt || bytes.length < start) return undefined
  return bytes.compare(after, 0, after.length, at, start) === 0 ? withLength(head, start, length) : undefined
}

const ZERO = 0x30
const NINE = 0x39
function digitAt(bytes: Buffer, at: number): number {
  const byte = bytes[at] ?? 0
  return byte >= ZERO && byte <= NINE ? byte - ZERO : -1
}

function withLength(
  { url, headers, rawHeaders }: Pick<RequestHead, 'url' | 'headers' | 'rawHeaders'>,
  start: number,
  length: number,
): RequestHead | undefined {
  return length > MAX_BODY_BYTES ? undefined : { url, headers, rawHeaders, start, end: start + length }
}

const keepsAlive = (connection: string | undefined): boolean =>
  connection === undefined || connection === 'keep-alive' || connection.toLowerCase() === 'keep-alive'
