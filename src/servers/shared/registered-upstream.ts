import type { CallRecorder } from './calls.ts'
import type { Catalogue, Catalogues } from './catalogues.ts'
import type { OfferSettings } from './server-fields.ts'
import type { ServerRecord } from './server-registry.ts'

export interface UpstreamDeps {
  readonly catalogues: Catalogues
  readonly calls: CallRecorder
}

/** The part of an upstream that is the same for both kinds of server. */
export abstract class RegisteredUpstream<S extends ServerRecord, D extends UpstreamDeps> {
  readonly id: string
  /** The record as it is stored now. */
  protected server: S
  protected readonly deps: D

  constructor(server: S, deps: D) {
    this.id = server.id
    this.server = server
    this.deps = deps
  }

  update(server: S): void {
    this.server = server
  }

  get name(): string {
    return this.server.name
  }

  get settings(): OfferSettings {
    return this.server
  }

  get catalogue(): Catalogue | undefined {
    return this.deps.catalogues.of(this.id)
  }
}
