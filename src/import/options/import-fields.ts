import type { Static } from 'typebox'
import * as Type from 'typebox'
import { type Carrier, maskArgs, maskCommand, maskUrl } from '../../kernel/secrets/secrets.ts'
import { orNull } from '../../kernel/wire.ts'
import { plainSecretsIn } from '../../servers/shared/definition/move-secrets.ts'
import { npxPackage } from '../../servers/shared/definition/npx-package.ts'
import { outgoingReferences } from '../translate/translate-definition.ts'
import { containerField, shownContainer } from './container-run.ts'

/** What both imports have in common: that of snippets, and that of agents' files. */

export const importOptions = {
  start_mode: Type.Optional(
    Type.Enum(['manual', 'eager', 'on_demand'], {
      description: 'The start mode of new STDIO servers; the usual default if omitted',
    }),
  ),
  move_secrets: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Store secrets in plain text as named secrets, and let the servers refer to them',
    }),
  ),
  pin: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Install the packages that `npx` would download, once, and run their files. Takes as long as the downloads',
    }),
  ),
  dry_run: Type.Optional(
    Type.Boolean({ default: false, description: 'Report what would happen, without changes' }),
  ),
}
const Options = Type.Object(importOptions)
export type ImportOptions = Static<typeof Options>

/** A definition in a report, with secrets masked. */
export const shownFields = {
  command: orNull(Type.String({ examples: ['npx'] })),
  args: Type.Array(Type.String(), { examples: [['-y', '@modelcontextprotocol/server-github']] }),
  url: orNull(Type.String()),
}

export const factFields = {
  ...shownFields,
  enabled: Type.Boolean({
    description:
      'false: it is disabled where it was found, and stays off: a STDIO server is stopped until you start it, an HTTP server is disabled',
  }),
  plain_secrets: Type.Array(Type.String(), {
    description: 'Where the definition has secrets as plain text. `move_secrets` moves them',
    examples: [['env GITHUB_TOKEN']],
  }),
  outgoing: Type.Array(
    Type.Object({
      reference: Type.String({ examples: ['$' + '{env:API_KEY}'] }),
      to: Type.String({ examples: ['header Authorization'] }),
    }),
    { description: 'Variables and secrets whose values would be sent to another computer' },
  ),
  can_pin: orNull(
    Type.String({
      description: 'The package that `pin` would install, as `npx` names it',
      examples: ['@playwright/mcp@latest'],
    }),
  ),
  container: containerField,
}
const Facts = Type.Object(factFields)
type Facts = Static<typeof Facts>

export function shownDefinition({
  command,
  args = [],
  url,
}: Carrier): Static<ReturnType<typeof Type.Object<typeof shownFields>>> {
  return {
    command: command === undefined ? null : maskCommand(command),
    args: maskArgs(args),
    url: url === undefined ? null : maskUrl(url),
  }
}

export const factsOf = (definition: Carrier, enabled: boolean): Facts => ({
  ...shownDefinition(definition),
  enabled,
  plain_secrets: plainSecretsIn(definition),
  outgoing: outgoingReferences(definition),
  can_pin: npxPackage(definition)?.spec ?? null,
  container: shownContainer(definition),
})

/** For an entry that could not be read. */
export const NO_FACTS: Facts = {
  command: null,
  args: [],
  url: null,
  enabled: true,
  plain_secrets: [],
  outgoing: [],
  can_pin: null,
  container: null,
}
