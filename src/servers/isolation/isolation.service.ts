import type { AuditEntry } from '../../kernel/facts.ts'
import type { Caller } from '../../kernel/wire.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { IsolationAbilities, PulledImage } from './isolation.schema.ts'

interface Pulling {
  readonly onPhase: (phase: string) => void
  readonly onLine: (text: string) => void
  readonly signal: AbortSignal
}

/** `supervisor/` implements the places; `compose/rest.ts` connects it. */
export interface Deps {
  readonly defaultIsolation: IsolationAbilities['default']
  readonly abilities: () => Promise<Readonly<Omit<IsolationAbilities, 'default'>>>
  /** Rejects with an AppError. */
  readonly pullImage: (image: string, pulling: Pulling) => Promise<Omit<PulledImage, 'image'>>
  readonly jobs: Pick<Jobs, 'run'>
  readonly audit: (entry: AuditEntry) => Promise<void>
}

/** The dashboard and the CLI often ask together. */
const FRESH_MS = 3000

export function createIsolation({ defaultIsolation, abilities, pullImage, jobs, audit }: Deps) {
  let last: { readonly found: ReturnType<Deps['abilities']>; readonly at: number } | undefined
  const known = () => {
    if (!last || performance.now() - last.at > FRESH_MS) last = { found: abilities(), at: performance.now() }
    return last.found
  }
  return {
    async abilities(): Promise<IsolationAbilities> {
      const { sandbox, container } = await known()
      return { default: defaultIsolation, sandbox, container }
    },

    /** A second request for the same image joins the running job. */
    pull(image: string, by: Caller): { readonly job: string; readonly settled: Promise<PulledImage> } {
      const { id, settled } = jobs.run('image_pull', image, `image_pull ${image}`, async (handle) => {
        const { signal, phase, line } = handle
        phase('resolving')
        const onPhase = (name: string) => {
          if (name !== 'resolving') phase(name)
        }
        const pulled = await pullImage(image, { onPhase, onLine: line, signal })
        await audit({ action: 'image_pulled', subject: image, ...by, detail: { ...pulled } })
        return { image, ...pulled }
      })
      return { job: id, settled }
    },
  }
}
export type IsolationRoom = ReturnType<typeof createIsolation>
