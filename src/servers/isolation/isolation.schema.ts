import type { Static } from 'typebox'
import * as Type from 'typebox'
import { IMAGE_NAME } from '../../kernel/containers/container-command.ts'
import { component, orNull } from '../../kernel/wire.ts'

const ability = (by: readonly [string, string], version: string) =>
  Type.Object({
    available: Type.Boolean({ description: 'It was tried: servers can run there' }),
    by: orNull(Type.Enum([...by], { description: 'What provides the isolation' })),
    version: orNull(Type.String({ examples: [version] })),
    problem: orNull(Type.String({ description: 'What is missing, with the evidence' })),
    remedy: orNull(Type.String({ description: 'The command or the step that helps' })),
  })

export const IsolationAbilities = Type.Object({
  default: Type.Enum(['none', 'sandbox', 'container'], {
    description: 'The isolation of new servers: the setting `DEFAULT_ISOLATION`',
  }),
  sandbox: ability(['bubblewrap', 'sandbox-exec'], '0.8.0'),
  container: ability(['docker', 'podman'], '20.10.24'),
})
export type IsolationAbilities = Static<typeof IsolationAbilities>
component({ IsolationAbilities }, 'Where servers can run on this computer')

export const PullInput = Type.Object(
  {
    image: Type.String({
      pattern: IMAGE_NAME,
      expected: 'the name of an image',
      description: 'With a tag or a digest. Without both, the tag is `latest`',
      examples: ['mcp/time', 'ghcr.io/github/github-mcp-server:v0.20.1'],
    }),
  },
  { additionalProperties: false },
)
component({ ImagePullInput: PullInput }, 'The image to download')

export const PulledImage = Type.Object({
  image: Type.String({ examples: ['mcp/time'] }),
  id: Type.String({ description: 'Of its contents', examples: [`sha256:${'0'.repeat(64)}`] }),
  digest: orNull(
    Type.String({
      description: 'Its name with the digest of the image registry',
      examples: [`mcp/time@sha256:${'0'.repeat(64)}`],
    }),
  ),
})
export type PulledImage = Static<typeof PulledImage>
component({ PulledImage }, 'The image, as the container engine has it now')
