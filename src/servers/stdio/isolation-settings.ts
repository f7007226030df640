import * as Type from 'typebox'
import { IMAGE_NAME, readContainerCommand } from '../../kernel/containers/docker-run-command.ts'
import { invalidField } from '../../kernel/errors.ts'
import type { Isolation, IsolationOptions } from '../../kernel/isolation-options.ts'
import { integer, optional, partial, textOrNull } from '../../kernel/schema-fields.ts'

/** Where the process of a server runs, and what it may reach there. */

const Kind = Type.Enum(['none', 'sandbox', 'container'], {
  description:
    '`none`: it has all rights of the user. `sandbox`: an empty home, a read-only system and no network, except for what `isolation_options` names. `container`: in an image, with Docker or Podman',
})

const paths = (description: string) =>
  Type.Array(
    Type.String({
      pattern: '^(?:/|~/)[^\\u0000-\\u001f]{1,4095}$',
      expected: 'an absolute path, or one that begins with ~/',
    }),
    { maxItems: 64, description, examples: [['~/notes']] },
  )
const options = {
  write: paths('Files and folders that it may change'),
  read: paths('Files and folders that it may read'),
  network: Type.Enum(['none', 'full'], { description: 'What it reaches of the network' }),
  image: textOrNull(
    'For `container`. Needed unless the command is `docker run` or `podman run`, which names one',
    { pattern: IMAGE_NAME, expected: 'the name of an image', examples: ['node:22-slim'] },
  ),
  memory_mb: integer('For `container`: the most memory, in MiB', { minimum: 16, maximum: 1_048_576 }),
  pids: integer('For `container`: the most processes and threads', { minimum: 1, maximum: 32_768 }),
}

export const isolationInput = optional({
  isolation: Kind,
  isolation_options: partial(options, { minProperties: 1 }),
})

export const isolationView = {
  isolation: Kind,
  isolation_options: Type.Object(options),
  place: Type.Enum(['local', 'sandbox', 'container'], {
    description: 'Where its process runs; `local` is the computer itself. In a container, `pid` is null',
  }),
}

const Input = Type.Object(isolationInput)

export const DEFAULT_OPTIONS: IsolationOptions = {
  write: [],
  read: [],
  network: 'none',
  image: null,
  memory_mb: 1024,
  pids: 256,
}

/** The current isolation with the given one applied. */
export const isolationOver = (current: Isolation, input: Type.Static<typeof Input>): Isolation => ({
  isolation: input.isolation ?? current.isolation,
  isolation_options: { ...current.isolation_options, ...input.isolation_options },
})

/** As the API shows them. */
export const shownOptions = ({ write, read, ...options }: IsolationOptions) => ({
  write: [...write],
  read: [...read],
  ...options,
})

export const placeOf = ({ isolation }: Isolation): Type.Static<typeof isolationView.place> =>
  isolation === 'none' ? 'local' : isolation

interface Command {
  readonly command: string
  readonly args: readonly string[]
  readonly package: string | null
}

/** Throws when a server cannot run where it should. */
export function checkIsolation(server: Isolation & Command): void {
  if (server.isolation !== 'container') return
  if (server.package !== null)
    throw invalidField(
      '/isolation',
      'cannot be container for a server of an installed package',
      'Use sandbox',
    )
  const run = readContainerCommand(server.command, server.args)
  if (run?.ok === false)
    throw invalidField(
      '/args',
      `cannot be run in a container of Toolroom: ${run.cannot.join(', ')}`,
      'Remove what is named, or set isolation to none',
    )
  if (!run && server.isolation_options.image === null)
    throw invalidField('/isolation_options/image', 'is required with isolation container')
}
