import type { Facts } from '../../kernel/fact-bus.ts'
import type { References, Resolved, SecretVersions } from '../shared/definition/resolved-references.ts'
import type { Outcome, Tries } from '../shared/tries.ts'
import type { Engine, InstancePool } from './instance-pool.ts'
import type { Server } from './servers.schema.ts'
import { startDigest } from './start-digest.ts'
import type { StartObstacles } from './start-obstacles.ts'

interface Deps {
  readonly references: References
  readonly engine: Pick<Engine, 'life'>
  readonly instances: InstancePool
  readonly tries: Tries
  readonly obstacles: StartObstacles
  readonly recordOf: (id: string) => Server | undefined
  /** Of an installed package. */
  readonly versionOf: (packageName: string) => string | null
}

/** Resolves references at a start, keeps what each process was started with, and records how the start went. */
export class StartedWith {
  readonly #deps: Deps
  /** By the id of the process in the engine. Only processes that were started with a secret. */
  readonly #versions = new Map<string, SecretVersions>()
  /** By the id of the process, too: of the definition. */
  readonly #digests = new Map<string, string>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Called when a process is started. */
  resolve(server: Server, processId: string): Resolved<Server> {
    const resolved = this.#deps.references.resolve(server.id, server)
    this.#forgetEnded(server.id)
    this.#versions.delete(processId)
    this.#digests.set(processId, this.#digestOf(server, resolved))
    if (resolved.ok && resolved.versions.size > 0) this.#versions.set(processId, resolved.versions)
    return resolved
  }

  /** Of the definition as it would be started now. */
  digestOf(server: Server): string {
    return this.#digestOf(server, this.#deps.references.resolve(server.id, server))
  }

  #digestOf(server: Server, resolved: Resolved<Server>): string {
    return startDigest(server, resolved, this.#deps.versionOf)
  }

  /** The start of an instance counts, too. Its failure concerns one client alone, and is the error of its call. */
  tried({ server_id, process_id, ...outcome }: Facts['server_tried']): void {
    const digest = this.#digests.get(process_id)
    const isShared = process_id === server_id
    if (digest !== undefined && (isShared || !outcome.error)) this.record(server_id, digest, outcome)
  }

  /** What was started with another definition says nothing about the current one. */
  record(id: string, digest: string, { error, crashed = false }: Outcome, at?: number): void {
    const { recordOf, obstacles, tries } = this.#deps
    const server = recordOf(id)
    if (!server || this.digestOf(server) !== digest) return
    const obstructed = error !== null && obstacles.of(server, 0)?.code === error.code
    tries.record(id, digest, { error, crashed: crashed && !obstructed, obstructed }, at)
  }

  /** Whether a process runs with a secret that has changed since its start. */
  isOutdated({ id }: Server): boolean {
    if (this.#versions.size === 0) return false
    return [id, ...[...this.#deps.instances.of(id).values()].map((instance) => instance.id)].some(
      (process) => {
        const versions = this.#versions.get(process)
        if (!versions || !this.#deps.references.isOutdated(versions)) return false
        const { status } = this.#deps.engine.life(process).state
        return status === 'running' || status === 'starting'
      },
    )
  }

  /** The id of an instance is never used again. */
  #forgetEnded(serverId: string): void {
    for (const id of this.#digests.keys()) {
      if (!id.startsWith(`${serverId}~`) || this.#deps.instances.get(id)) continue
      this.#digests.delete(id)
      this.#versions.delete(id)
    }
  }
}
