import { randomBytes } from 'node:crypto'
import { AppError } from '../../kernel/errors.ts'
import { isObject } from '../../kernel/json/json-checks.ts'
import { CallFailure } from '../../mcp/protocol/call-failure.ts'
import type { CallOptions, CallResult } from '../../mcp/protocol/call-options.ts'
import { iframePolicy } from './iframe-policy.ts'

const LIFETIME_MS = 60_000
const MOST_IFRAMES = 20
const MOST_BYTES = 5 * 1_048_576

interface Iframe {
  readonly html: string
  readonly policy: string
}

interface Deps {
  /** Reads a resource of a server. Rejects when there is no such server. */
  readonly read: (server_id: string, uri: string, options: CallOptions) => Promise<CallResult>
  readonly now: () => number
}

/** Pages of servers that wait to be shown. An address works once, so a page cannot be opened again by guessing. */
export function createIframes({ read, now }: Deps) {
  const waiting = new Map<string, Iframe & { readonly expires_at: number }>()

  function forgetOld(): void {
    for (const [id, { expires_at }] of waiting)
      if (expires_at <= now() || waiting.size >= MOST_IFRAMES) waiting.delete(id)
  }

  return {
    /** Reads the page, and returns where it can be opened. */
    async open(server_id: string, uri: string, options: CallOptions) {
      const { value } = await read(server_id, uri, options).catch((error: unknown) => {
        throw asAppError(error, uri)
      })
      const { html, meta } = pageIn(value, uri)
      forgetOld()
      const id = randomBytes(16).toString('base64url')
      const frame = { html, policy: iframePolicy(meta), expires_at: now() + LIFETIME_MS }
      waiting.set(id, frame)
      return { url: `/app-frames/${id}`, expires_at: frame.expires_at, policy: frame.policy }
    },

    /** Undefined when it was opened before, or its time has passed. */
    take(id: string): Iframe | undefined {
      const frame = waiting.get(id)
      waiting.delete(id)
      return frame && frame.expires_at > now() ? frame : undefined
    },
  }
}
export type Iframes = ReturnType<typeof createIframes>

function asAppError(error: unknown, uri: string): unknown {
  if (!(error instanceof CallFailure)) return error
  const subject = `The page '${uri.slice(0, 100)}'`
  return error.reason === 'timeout'
    ? new AppError('call_timeout', `${subject} was not sent in time`, { cause: error })
    : new AppError('call_failed', `${subject} cannot be read: ${error.message.slice(0, 500)}`, {
        cause: error,
      })
}

function pageIn(result: unknown, uri: string): { readonly html: string; readonly meta: unknown } {
  const contents: readonly unknown[] =
    isObject(result) && Array.isArray(result.contents) ? result.contents : []
  const page = contents.find((each) => isObject(each) && (each.text !== undefined || each.blob !== undefined))
  const { text, blob, _meta } = isObject(page) ? page : {}
  const html =
    typeof text === 'string'
      ? text
      : typeof blob === 'string'
        ? Buffer.from(blob, 'base64').toString('utf8')
        : undefined
  if (html === undefined) throw new AppError('not_found', `The server has no page '${uri.slice(0, 100)}'`)
  if (Buffer.byteLength(html) > MOST_BYTES)
    throw new AppError('call_failed', `The page '${uri.slice(0, 100)}' is larger than 5 MiB`)
  return { html, meta: _meta }
}
