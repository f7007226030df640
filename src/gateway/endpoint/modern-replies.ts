import type { ServerResponse } from 'node:http'
import { InFlight } from '../../protocol/in-flight.ts'
import { DropCounter } from '../notify/drop-counter.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Incoming } from './json-rpc.ts'
import { ModernReply } from './modern-reply.ts'
import { PendingInputs } from './pending-input.ts'

interface Deps {
  readonly now: () => number
  /** Notifications were dropped because an agent reads too slowly. */
  readonly onDropped: (count: number) => void
}

const REPORT_DROPS_MS = 60_000

/** The pending requests of modern agents, including those that wait for input. */
export class ModernReplies {
  readonly #shared: ConstructorParameters<typeof ModernReply>[4]

  constructor({ now, onDropped }: Deps) {
    this.#shared = {
      pendingInputs: new PendingInputs<ModernReply>({ now }),
      pending: new InFlight<ModernReply, ModernReply>(),
      drops: new DropCounter(REPORT_DROPS_MS, onDropped),
    }
  }

  /** Undefined when the request has the input for a pending call, which continues. */
  open(
    message: Incoming,
    id: string | number,
    response: ServerResponse,
    place: Pick<Session, 'keyId' | 'agentType' | 'serverId'>,
  ): ModernReply | undefined {
    if (message.params.requestState !== undefined) {
      const pending = this.#shared.pendingInputs.take(message, place)
      pending?.resume(message, id, response)
      if (pending) return undefined
    }
    return new ModernReply(message, id, response, place, this.#shared)
  }

  /** Cancels all requests, or those of one key. */
  close(keyId?: string): void {
    for (const reply of this.#shared.pending.values())
      if (keyId === undefined || reply.place.keyId === keyId) reply.cancel()
  }
}
