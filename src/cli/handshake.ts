import type { IncomingMessage } from 'node:http'
import { isObject } from '../kernel/is-object.ts'
import { headersOf, type Session, sessionHeaders } from './headers.ts'
import { type Hear, hearAnswer } from './hear.ts'
import type { Link } from './link.ts'
import type { Message } from './message.ts'
import { Standing } from './standing.ts'

interface Deps {
  readonly link: Link
  /** What servers say unasked. */
  readonly hear: Hear
  /** Something may have been missed: the agent should look again. */
  readonly onChanged: () => void
  readonly onNoKey: () => void
}

const PATIENCE_MS = 30_000
const END_MS = 1000

/** How a legacy agent has said hello, so that it can be said again for it when Toolroom has forgotten. */
export class Hello {
  readonly #deps: Deps
  #session: Session | undefined
  #greeting: Message | undefined
  #initialized: Message | undefined
  #standing: Standing | undefined
  #renewing: Promise<boolean> | undefined
  readonly #end = new AbortController()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  get session(): Session | undefined {
    return this.#session
  }

  /** Its `initialize` was answered. */
  greeted(greeting: Message, answer: IncomingMessage, message: Readonly<Record<string, unknown>>): void {
    const before = this.#session
    if (this.#adopt(greeting, answer, message) && before) void this.#forget(before)
  }

  /** Its `notifications/initialized` has arrived: from now on it can be told things. */
  initialized(note: Message): void {
    this.#initialized = note
    this.#listen()
  }

  /** False when Toolroom does not want to know it; throws when nobody answers. Who comes late finds it done. */
  renew(old: Session): Promise<boolean> {
    if (this.#session !== old) return Promise.resolve(true)
    this.#renewing ??= this.#sayAgain().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  /** Nothing is heard any longer. */
  close(): void {
    this.#end.abort()
    this.#standing?.close()
  }

  async end(): Promise<void> {
    this.close()
    if (this.#session) await this.#forget(this.#session)
  }

  async #sayAgain(): Promise<boolean> {
    const greeting = this.#greeting
    if (!greeting) return false
    const answer = await this.#post(greeting)
    let isAdopted = false
    await hearAnswer(answer, (message) => {
      isAdopted = this.#adopt(greeting, answer, message)
    })
    if (!isAdopted) return false
    if (this.#initialized) {
      const told = await this.#post(this.#initialized)
      told.resume()
      this.#listen()
    }
    this.#deps.onChanged()
    return true
  }

  #adopt(
    greeting: Message,
    { headers }: IncomingMessage,
    { result }: Readonly<Record<string, unknown>>,
  ): boolean {
    const id = headers['mcp-session-id']
    if (typeof id !== 'string' || !isObject(result)) return false
    const { protocolVersion } = result
    this.#session = { id, version: typeof protocolVersion === 'string' ? protocolVersion : '' }
    this.#greeting = greeting
    return true
  }

  #post(message: Message): Promise<IncomingMessage> {
    return this.#deps.link.reach({
      method: 'POST',
      headers: headersOf(message, this.#session),
      body: message.bytes,
      signal: this.#end.signal,
      until: performance.now() + PATIENCE_MS,
    })
  }

  #listen(): void {
    this.#standing?.close()
    const session = this.#session
    if (!session || this.#end.signal.aborted) return
    const { link, hear, onChanged, onNoKey } = this.#deps
    const onOver = () => this.renew(session)
    this.#standing = new Standing({ link, session, hear, onGap: onChanged, onOver, onNoKey })
  }

  /** A session that nobody ends is kept for a day. */
  async #forget(session: Session): Promise<void> {
    const signal = AbortSignal.timeout(END_MS)
    const asked = { method: 'DELETE', headers: sessionHeaders(session), signal, until: 0 } as const
    await this.#deps.link.reach(asked).then(
      (answer) => answer.resume(),
      () => {}, // whoever is not there has no session of ours either
    )
  }
}
