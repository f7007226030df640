import * as Type from 'typebox'
import { type ContainerCommand, readContainerCommand } from '../../kernel/containers/docker-run-command.ts'
import type { Isolation } from '../../kernel/isolation-options.ts'
import { orNull } from '../../kernel/rest-parts.ts'
import { integer, objects, text, textOrNull, texts } from '../../kernel/schema-fields.ts'
import { type Carrier, maskArgs } from '../../kernel/secrets/mask-secrets.ts'

/** A `docker run` that Toolroom runs itself: the fields of its server. */
interface ContainerRun {
  readonly isolation: 'container'
  readonly isolation_options: Partial<Pick<Isolation['isolation_options'], 'network' | 'memory_mb' | 'pids'>>
}

type ContainerImport =
  | { readonly ok: true; readonly fields: ContainerRun; readonly container: ContainerCommand }
  /** It stays a command, and why. */
  | { readonly ok: false; readonly why: string }

/** Undefined if the command does not run a container. */
export function containerImport(
  { command = '', args = [] }: Carrier,
  system: NodeJS.Platform = process.platform,
): ContainerImport | undefined {
  const run = readContainerCommand(command, args)
  if (!run) return undefined
  if (!run.ok) return { ok: false, why: `it has ${run.cannot.join(', ')}` }
  if (system === 'win32') return { ok: false, why: 'it reaches a container engine only over a unix socket' }
  const { network, memory_mb, pids } = run.container
  if (memory_mb !== null && (memory_mb < MIN_MEMORY_MB || memory_mb > MAX_MEMORY_MB))
    return { ok: false, why: `its --memory is not from ${MIN_MEMORY_MB} to ${MAX_MEMORY_MB} MiB` }
  if (pids !== null && pids > MAX_PIDS) return { ok: false, why: `its --pids-limit is above ${MAX_PIDS}` }
  const limits = { ...(memory_mb !== null && { memory_mb }), ...(pids !== null && { pids }) }
  const fields = { isolation: 'container', isolation_options: { network, ...limits } } as const
  return { ok: true, fields, container: run.container }
}

/** What the API accepts in `isolation_options`. */
const [MIN_MEMORY_MB, MAX_MEMORY_MB, MAX_PIDS] = [16, 1_048_576, 32_768]

/** What would run in the container, for a report. Values of variables are left out. */
export const containerField = orNull(
  Type.Object(
    {
      image: Type.String({ examples: ['mcp/time'] }),
      entrypoint: textOrNull('In place of that of the image'),
      args: texts('Of the program in the image. Secrets are masked'),
      env: texts('The names of the variables that it gets'),
      mounts: objects({
        source: text('A path of this computer, or a volume'),
        target: Type.String(),
        access: Type.Enum(['write', 'read']),
      }),
      network: Type.Enum(['none', 'full']),
      memory_mb: orNull(integer('null: the default of `isolation_options`')),
      pids: orNull(integer('null: the default of `isolation_options`')),
    },
    {
      description:
        'Of a `docker run` or `podman run` that Toolroom runs itself: the server gets `isolation: container`. null for every other command',
    },
  ),
)

export function shownContainer(definition: Carrier): Type.Static<typeof containerField> {
  const found = containerImport(definition)
  if (!found?.ok) return null
  const { image, entrypoint, args, env, mounts, network, memory_mb, pids } = found.container
  return {
    image,
    entrypoint,
    args: maskArgs(args),
    env: Object.keys(env),
    mounts: mounts.map((mount) => ({ ...mount })),
    network,
    memory_mb,
    pids,
  }
}

/** What the user has to know before a definition that runs a container works. */
export const containerNotes = (definition: Carrier): string[] => [
  ...passedVariables(definition),
  ...runNotes(definition),
]

const DOCKER = /(?:^|[\\/])(?:docker|podman)(?:\.exe)?$/
const VARIABLE = /^[A-Za-z_]\w*$/

/** `docker run -e NAME` takes the value from its own environment, which is the server's env here. */
function passedVariables({ command = '', args = [], env = {} }: Carrier): string[] {
  if (!DOCKER.test(command) || !args.includes('run')) return []
  const passed = args.flatMap((arg, index) => {
    const inline = /^(?:-e|--env)=(.*)$/s.exec(arg)?.[1]
    const value = arg === '-e' || arg === '--env' ? args[index + 1] : inline
    return value !== undefined && VARIABLE.test(value) && !Object.hasOwn(env, value) ? [value] : []
  })
  return passed.map(
    (name) => `docker passes ${name} from its own environment to the container; add ${name} to env`,
  )
}

/** A killed `docker run` leaves its container behind, so Toolroom runs it itself where it can. */
function runNotes(definition: Carrier): string[] {
  const found = containerImport(definition)
  if (!found) return []
  if (!found.ok)
    return [`It stays a command that runs a container, which Toolroom cannot run itself: ${found.why}`]
  const { image } = found.container
  return [
    `Toolroom runs this container itself, with a read-only root and limits, and ends it with the server. Before the first start, run toolroom images pull ${image}. Set isolation to none to run the command instead`,
  ]
}
