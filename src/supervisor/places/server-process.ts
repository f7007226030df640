import type { ProcessGroup } from '../platform/platform.ts'

/** The process of a server, wherever it runs. In a container it has no pid on this computer. */
export interface ServerProcess extends Omit<ProcessGroup, 'pid'> {
  readonly pid: number | null
}
