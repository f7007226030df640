import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { isObject } from '../../kernel/is-object.ts'
import { CODES, type Incoming, RpcError } from './json-rpc.ts'

/** What a requestState says, under a seal: it comes back from outside. */
export interface Stated {
  /** Which parked call is meant, and which of its questions. */
  readonly id: string
  readonly keyId: string
  readonly expiresAt: number
  /** Of the request that it was given for. */
  readonly digest: string
}

/** Seals and opens what agents carry between a question and its answer. The key is of this run, as are the calls. */
export class RequestStates {
  readonly #secret = randomBytes(32)
  readonly #prefix = `toolroom-${randomBytes(6).toString('base64url')}.`

  seal({ id, keyId, expiresAt, digest }: Stated): string {
    const said = Buffer.from(JSON.stringify([id, keyId, expiresAt, digest])).toString('base64url')
    return `${this.#prefix}${said}.${this.#sealOf(said).toString('base64url')}`
  }

  /** Undefined for one that somebody else has given. Throws for one that looks like ours and is not. */
  open(state: string): Stated | undefined {
    if (!state.startsWith(this.#prefix)) return undefined
    const [said = '', seal = ''] = state.slice(this.#prefix.length).split('.')
    const given = Buffer.from(seal, 'base64url')
    const right = this.#sealOf(said)
    if (given.length !== right.length || !timingSafeEqual(given, right)) throw notOurs()
    const [id, keyId, expiresAt, digest] = JSON.parse(Buffer.from(said, 'base64url').toString())
    return { id, keyId, expiresAt, digest }
  }

  #sealOf(said: string): Buffer {
    return createHmac('sha256', this.#secret).update(said).digest()
  }
}

export const notOurs = (): RpcError =>
  new RpcError(CODES.params, 'This requestState was not given to this agent by this gateway')

/** The same request has the same, however its keys are ordered. What comes with a retry is not part of it. */
export function digestOf({ method, params }: Incoming, serverId: string | undefined): string {
  const { _meta, inputResponses, requestState, ...rest } = params
  const text = JSON.stringify([serverId ?? null, method, rest], (_, value) =>
    isObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value,
  )
  return createHash('sha256').update(text).digest('base64url')
}
