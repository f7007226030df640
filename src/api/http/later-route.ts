import type { HttpListener } from '../../kernel/http/exchange.ts'
import type { DirectRoute } from './listener.ts'

/** A route that is known before its code is loaded. Requests for it wait. */
export class LaterRoute implements DirectRoute {
  readonly takes: DirectRoute['takes']
  readonly #waiting: Parameters<HttpListener>[] = []
  #listener: HttpListener | undefined

  constructor(takes: DirectRoute['takes']) {
    this.takes = takes
  }

  readonly listener: HttpListener = (request, response) => {
    if (this.#listener) this.#listener(request, response)
    else this.#waiting.push([request, response])
  }

  /** Answers the requests that are waiting. */
  open(listener: HttpListener): void {
    this.#listener = listener
    for (const exchange of this.#waiting.splice(0)) listener(...exchange)
  }
}
