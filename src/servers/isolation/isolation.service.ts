import * as Type from 'typebox'
import { IMAGE_NAME } from '../../kernel/containers/docker-run-command.ts'
import type { AuditEntry } from '../../kernel/fact-bus.ts'
import { type Caller, component, orNull } from '../../kernel/rest-parts.ts'
import { boolean, closed, text, textOrNull } from '../../kernel/schema-fields.ts'
import type { Jobs } from '../jobs/jobs.ts'

interface Pulling {
  readonly onPhase: (phase: string) => void
  readonly onLine: (text: string) => void
  readonly signal: AbortSignal
}

/** `supervisor/` implements the places; `compose/rest.ts` connects it. */
interface Deps {
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

const ability = (by: readonly [string, string], version: string) =>
  Type.Object({
    available: boolean('It was tried: servers can run there'),
    by: orNull(Type.Enum([...by], { description: 'What provides the isolation' })),
    version: orNull(Type.String({ examples: [version] })),
    problem: textOrNull('What is missing, with the evidence'),
    remedy: textOrNull('The command or the step that helps'),
  })

export const IsolationAbilities = Type.Object({
  default: Type.Enum(['none', 'sandbox', 'container'], {
    description: 'The isolation of new servers: the setting `DEFAULT_ISOLATION`',
  }),
  sandbox: ability(['bubblewrap', 'sandbox-exec'], '0.8.0'),
  container: ability(['docker', 'podman'], '20.10.24'),
})
export type IsolationAbilities = Type.Static<typeof IsolationAbilities>
component({ IsolationAbilities }, 'Where servers can run on this computer')

export const PullInput = closed({
  image: text('With a tag or a digest. Without both, the tag is `latest`', {
    pattern: IMAGE_NAME,
    expected: 'the name of an image',
    examples: ['mcp/time', 'ghcr.io/github/github-mcp-server:v0.20.1'],
  }),
})
component({ ImagePullInput: PullInput }, 'The image to download')

export const PulledImage = Type.Object({
  image: Type.String({ examples: ['mcp/time'] }),
  id: text('Of its contents', { examples: [`sha256:${'0'.repeat(64)}`] }),
  digest: textOrNull('Its name with the digest of the image registry', {
    examples: [`mcp/time@sha256:${'0'.repeat(64)}`],
  }),
})
export type PulledImage = Type.Static<typeof PulledImage>
component({ PulledImage }, 'The image, as the container engine has it now')
