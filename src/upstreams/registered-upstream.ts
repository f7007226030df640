import { AppError } from '../kernel/errors.ts'
import type { RecordCall } from './calls.ts'
import type { Catalogue, Catalogues } from './catalogues.ts'
import { OFFER_DEFAULTS, type OfferSettings } from './server-fields.ts'
import type { ServerRecord } from './server-registry.ts'

export interface UpstreamDeps<S extends ServerRecord> {
  /** The record as it is stored now. */
  readonly peek: (id: string) => S | undefined
  readonly catalogues: Catalogues
  readonly record: RecordCall
}

/** The part of an upstream that is the same for both kinds of server. */
export abstract class RegisteredUpstream<S extends ServerRecord, D extends UpstreamDeps<S>> {
  readonly id: string
  protected readonly deps: D

  constructor(id: string, deps: D) {
    this.id = id
    this.deps = deps
  }

  get settings(): OfferSettings {
    return this.deps.peek(this.id) ?? OFFER_DEFAULTS
  }

  get catalogue(): Catalogue | undefined {
    return this.deps.catalogues.of(this.id)
  }

  protected get server(): S {
    const server = this.deps.peek(this.id)
    if (server) return server
    throw new AppError('not_found', `'${this.id}' was deleted`)
  }
}
