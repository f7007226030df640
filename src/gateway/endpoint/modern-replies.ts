import type { ServerResponse } from 'node:http'
import { InFlight } from '../../protocol/in-flight.ts'
import { Drops } from '../notify/drop-counter.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Incoming } from './json-rpc.ts'
import { ModernReply } from './modern-reply.ts'
import { Parking } from './pending-input.ts'

interface Deps {
  readonly now: () => number
  /** Of what was not said because somebody reads too slowly. */
  readonly onDropped: (count: number) => void
}

const DROPS_MS = 60_000

/** The requests of the modern era that are under way, also those whose agents are asked something meanwhile. */
export class ModernReplies {
  readonly #around: ConstructorParameters<typeof ModernReply>[4]

  constructor({ now, onDropped }: Deps) {
    this.#around = {
      parking: new Parking<ModernReply>({ now }),
      underWay: new InFlight<ModernReply, ModernReply>(),
      drops: new Drops(DROPS_MS, onDropped),
    }
  }

  /** Undefined when the request brings an answer to a call that waited for it, and goes on with that one. */
  open(
    message: Incoming,
    id: string | number,
    response: ServerResponse,
    place: Pick<Session, 'keyId' | 'agentType' | 'serverId'>,
  ): ModernReply | undefined {
    if (message.params.requestState !== undefined) {
      const parked = this.#around.parking.take(message, place)
      parked?.resume(message, id, response)
      if (parked) return undefined
    }
    return new ModernReply(message, id, response, place, this.#around)
  }

  /** All of them, or those of a key that was taken away. */
  close(keyId?: string): void {
    for (const reply of this.#around.underWay.values())
      if (keyId === undefined || reply.place.keyId === keyId) reply.cancel()
  }
}
