import * as Type from 'typebox'
import { component, orNull } from '../../kernel/rest-parts.ts'
import { text } from '../../kernel/schema-fields.ts'

const Check = Type.Object({
  name: Type.String({ examples: ['command'] }),
  ok: Type.Boolean(),
  detail: text('What was found and, where needed, what to do'),
})
export type Check = Type.Static<typeof Check>

export const Diagnosis = Type.Object({
  checks: Type.Array(Check, { description: 'In order. A failed one may be the cause of those after it' }),
  command_line: text('Does the same in a terminal, or in PowerShell on Windows. Secrets are masked', {
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
export type Diagnosis = Type.Static<typeof Diagnosis>
component({ Diagnosis }, 'What was checked, and how to do the same in a terminal')

/** A cause and what to do about it, in one detail. */
export const explained = ({ message, hint }: { readonly message: string; readonly hint: string | null }) =>
  hint === null ? message : `${message}. ${hint}`

/** A command as a person would type it: for sh, or for PowerShell on Windows. Masked values are left as they are shown. */
export interface Typed {
  /** Null for the home. Undefined if it does not matter. */
  readonly cwd?: string | null
  readonly env?: Readonly<Record<string, string>>
  readonly words: readonly string[]
}

export const commandLine = (typed: Typed, system: NodeJS.Platform = process.platform): string =>
  system === 'win32' ? inPowerShell(typed) : inSh(typed)

function inSh({ cwd, env = {}, words }: Typed): string {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${shWord(value)}`)
  const command = [...variables, ...words.map(shWord)].join(' ')
  return cwd === undefined ? command : `cd ${cwd === null ? '~' : shWord(cwd)} && ${command}`
}

/** There, variables are set before the command, and `&` runs a program whose path is in quotes. */
function inPowerShell({ cwd, env = {}, words: [program = '', ...args] }: Typed): string {
  const variables = Object.entries(env).map(([name, value]) => `$env:${name} = ${quoted(value)}`)
  const word = powerShellWord(program)
  const command = [word === program ? word : `& ${word}`, ...args.map(powerShellWord)].join(' ')
  const folder = cwd === undefined ? [] : [`cd ${cwd === null ? '~' : powerShellWord(cwd)}`]
  return [...folder, ...variables, command].join('; ')
}

const shWord = (text: string): string =>
  /^[\w@%+=:,./~*-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

const powerShellWord = (text: string): string => (/^[\w+=:./\\~*-]+$/.test(text) ? text : quoted(text))

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
