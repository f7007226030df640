import type { References, Resolved, SecretVersions } from '../shared/definition/references.ts'
import type { Instances } from './instances.ts'
import type { Server } from './servers.schema.ts'

type Processes = Pick<Instances, 'get' | 'of' | 'life'>

/** Resolves the references of servers at their start, and keeps which secrets each process was started with. */
export class StartedWith {
  readonly #references: References
  readonly #processes: Processes
  /** By the id of the process in the engine. Only processes that were started with a secret. */
  readonly #versions = new Map<string, SecretVersions>()

  constructor(references: References, processes: Processes) {
    this.#references = references
    this.#processes = processes
  }

  /** Called when a process is started. */
  resolve(server: Server, processId: string): Resolved<Server> {
    const resolved = this.#references.resolve(server.id, server)
    this.#versions.delete(processId)
    if (resolved.ok && resolved.versions.size > 0) {
      this.#forgetEnded(server.id)
      this.#versions.set(processId, resolved.versions)
    }
    return resolved
  }

  /** Whether a process runs with a secret that has changed since its start. */
  isOutdated({ id }: Server): boolean {
    if (this.#versions.size === 0) return false
    return [id, ...[...this.#processes.of(id).values()].map((instance) => instance.id)].some((process) => {
      const versions = this.#versions.get(process)
      if (!versions || !this.#references.isOutdated(versions)) return false
      const { status } = this.#processes.life(process).state
      return status === 'running' || status === 'starting'
    })
  }

  /** The id of an instance is never used again. */
  #forgetEnded(serverId: string): void {
    for (const id of this.#versions.keys())
      if (id.startsWith(`${serverId}~`) && !this.#processes.get(id)) this.#versions.delete(id)
  }
}
