import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, orNull } from '../../kernel/wire.ts'

const Check = Type.Object({
  name: Type.String({ examples: ['command'] }),
  ok: Type.Boolean(),
  detail: Type.String({ description: 'What was found and, where needed, what to do' }),
})
export type Check = Static<typeof Check>

export const Diagnosis = Type.Object({
  checks: Type.Array(Check, { description: 'In order. A failed one may be the cause of those after it' }),
  command_line: Type.String({
    description: 'Does the same in a terminal, or in PowerShell on Windows. Secrets are masked',
    examples: ['cd ~ && API_TOKEN=*** npx -y @modelcontextprotocol/server-github'],
  }),
  repair: orNull(
    Type.Object(
      {
        command: Type.String({ examples: ['/home/me/tools/notes'] }),
        detail: Type.String({ examples: ['Your login shell finds it at /home/me/tools/notes'] }),
      },
      { description: 'If the command was not found: where your login shell finds it. Set `command` to it' },
    ),
  ),
})
export type Diagnosis = Static<typeof Diagnosis>
component({ Diagnosis }, 'What was checked, and how to do the same in a terminal')

/** A cause and what to do about it, in one detail. */
export const explained = ({ message, hint }: { readonly message: string; readonly hint: string | null }) =>
  hint === null ? message : `${message}. ${hint}`
