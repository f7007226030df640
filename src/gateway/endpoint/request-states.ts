import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { CODES } from '../../mcp/protocol/mcp-constants.ts'
import { RpcError } from '../messages/rpc-error.ts'

export const refused = (message: string): RpcError => new RpcError(CODES.params, message)

/** The content of a `requestState`. It is signed, because the agent sends it back. */
interface RequestState {
  /** Identifies the pending call. */
  readonly id: string
  readonly keyId: string
  readonly expiresAt: number
  /** The digest of the request that it was issued for. */
  readonly digest: string
}

/** Signs and verifies `requestState` values. The key lives as long as the process, like the pending calls. */
export class RequestStates {
  readonly #secret = randomBytes(32)
  readonly #prefix = `toolroom-${randomBytes(6).toString('base64url')}.`

  sign({ id, keyId, expiresAt, digest }: RequestState): string {
    const content = Buffer.from(JSON.stringify([id, keyId, expiresAt, digest])).toString('base64url')
    return `${this.#prefix}${content}.${this.#signatureOf(content).toString('base64url')}`
  }

  /** Undefined when it is not ours. Throws when it has our prefix but not our signature. */
  verify(state: string): RequestState | undefined {
    if (!state.startsWith(this.#prefix)) return undefined
    const [content = '', signature = ''] = state.slice(this.#prefix.length).split('.')
    const given = Buffer.from(signature, 'base64url')
    const expected = this.#signatureOf(content)
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw invalidState()
    const [id, keyId, expiresAt, digest] = JSON.parse(Buffer.from(content, 'base64url').toString())
    return { id, keyId, expiresAt, digest }
  }

  #signatureOf(content: string): Buffer {
    return createHmac('sha256', this.#secret).update(content).digest()
  }
}

export const invalidState = (): RpcError =>
  refused('This requestState was not issued to this agent by this gateway')
