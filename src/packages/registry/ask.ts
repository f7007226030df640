import type { IncomingMessage } from 'node:http'
import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { VERSION } from '../../kernel/version.ts'
import { isBlockedHost } from '../../net/blocked-address.ts'
import { blocked, brokenOff, late, notJson, strayed, tooLarge, unreachable } from './failures.ts'
import { DIRECT, requestOver, type Way } from './way.ts'

export interface Question {
  readonly accept: string
  /** Asked anew for every address, so that a login never follows a redirect to somebody else. */
  readonly authorizationFor: (url: string) => string | undefined
  readonly until: Until
  readonly way?: Way
}

/** The end of waiting: the deadline of one question, which may take several requests, and whoever asked. */
export interface Until {
  readonly signal: AbortSignal
  readonly deadline: AbortSignal
}

export interface Answer {
  readonly status: number
  /** Undefined when it is not JSON, which only the status of an error may be. */
  readonly json: unknown
  readonly host: string
}

const MAX_BYTES = 20 * 1024 * 1024
const MAX_REDIRECTS = 3

export function untilAfter(ms: number, signal?: AbortSignal): Until {
  const deadline = AbortSignal.timeout(ms)
  return { deadline, signal: signal ? AbortSignal.any([signal, deadline]) : deadline }
}

/** GET, and the answer as JSON. Rejects with an AppError, or with the reason of the caller's signal. */
export async function ask(first: URL, question: Question): Promise<Answer> {
  let url = first
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    if (isBlockedHost(url.hostname)) throw blocked(url.host)
    const response = await send(url, question, hops > 0 && url.origin !== first.origin)
    const status = response.statusCode ?? 0
    const { location } = response.headers
    if (status < 300 || status >= 400 || location === undefined) {
      const body = await read(response, url, question.until)
      return { status, json: parsed(body, status, url.host), host: url.host }
    }
    response.destroy()
    url = redirected(url, location)
  }
  throw strayed(first.host)
}

async function send(
  url: URL,
  { accept, authorizationFor, until, way = DIRECT }: Question,
  elsewhere: boolean,
) {
  const authorization = elsewhere ? undefined : authorizationFor(url.href)
  const headers = {
    accept,
    'accept-encoding': 'gzip, br',
    'user-agent': `toolroom/${VERSION}`,
    ...(authorization !== undefined && { authorization }),
  }
  const failed = (error: unknown) => ended(until, url) ?? unreachable(error, url.host)
  if (until.signal.aborted) throw failed(undefined)
  const sent = await requestOver(way, url, { headers, signal: until.signal }).catch((error: unknown) => {
    throw failed(error)
  })
  return new Promise<IncomingMessage>((resolve, reject) => {
    const fail = (error: unknown) => reject(failed(error))
    sent.on('error', fail)
    sent.on('response', resolve)
    sent.on('close', () => fail(undefined)) // an answer that asks for another protocol ends without a word
    sent.end()
  })
}

/** Counted after decompression: a small file can hold a very large one. */
async function read(response: IncomingMessage, url: URL, until: Until): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  try {
    for await (const part of decoded(response) as AsyncIterable<Buffer>) {
      bytes += part.length
      if (bytes > MAX_BYTES) break
      parts.push(part)
    }
  } catch (error) {
    throw ended(until, url) ?? brokenOff(error, url.host)
  } finally {
    response.destroy()
  }
  if (bytes > MAX_BYTES) throw tooLarge(url.host)
  return Buffer.concat(parts)
}

const DECODERS = new Map<string, () => Readable & NodeJS.WritableStream>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
])

function decoded(response: IncomingMessage): Readable {
  const decoder = DECODERS.get(response.headers['content-encoding']?.trim().toLowerCase() ?? '')?.()
  if (!decoder) return response
  pipeline(response, decoder, () => {}) // whoever reads the decoder is told
  return decoder
}

function ended({ signal, deadline }: Until, { host }: URL): unknown {
  if (deadline.aborted) return late(host)
  return signal.aborted ? (signal.reason ?? new Error('cancelled')) : undefined
}

function parsed(body: Buffer, status: number, host: string): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    if (status === 200) throw notJson(host) // without the cause, which quotes the body
    return undefined
  }
}

/** To wherever the registry says, but never from https down to http. */
function redirected(from: URL, location: string): URL {
  if (!URL.canParse(location, from.href)) throw strayed(from.host)
  const to = new URL(location, from)
  const allowed = to.protocol === 'https:' || (to.protocol === 'http:' && from.protocol === 'http:')
  if (!allowed) throw strayed(from.host)
  to.username = ''
  to.password = ''
  return to
}
