import type { Carrier } from '../../kernel/secrets/mask-secrets.ts'
import { writeReference } from '../../kernel/secrets/references.ts'
import {
  changeTexts,
  referencesIn,
  shellScripts,
} from '../../servers/shared/definition/definition-references.ts'
import type { ServerInput } from '../../servers/stdio/servers.schema.ts'
import { containerNotes } from './translate-docker-run.ts'
import { type Source, type Translated, translateReferences } from './translate-references.ts'

/** A server as the API accepts it. */
export type Definition = StdioDefinition | HttpDefinition

export interface StdioDefinition extends Pick<ServerInput, 'isolation' | 'isolation_options'> {
  readonly type: 'stdio'
  readonly command: string
  readonly args: string[]
  readonly env: Record<string, string>
  readonly cwd?: string
  /** An installed package, of which the command is a program. */
  readonly package?: string
}

export interface HttpDefinition {
  readonly type: 'http'
  readonly url: string
  readonly transport: 'auto' | 'streamable_http' | 'sse'
  readonly headers: Record<string, string>
}

interface TranslatedDefinition<T> {
  readonly definition: T
  /** For the user. Never contain a value. */
  readonly notes: readonly string[]
  /** Why the definition cannot be imported. */
  readonly problem: string | undefined
}

type Imported = Carrier & { readonly cwd?: string | null }
type Field = 'args' | 'env' | 'headers' | 'url'

/** A definition of an agent or a README, with its references in Toolroom's syntax. `sourceOf` differs by field. */
export function translateDefinition<T extends Imported>(
  definition: T,
  sourceOf: (field: Field | 'command' | 'cwd') => Source,
): TranslatedDefinition<T> {
  const notes: string[] = []
  const forbidden: string[] = []
  const report = (label: string, { kept, replaced, forbidden: own }: Translated) => {
    notes.push(...kept.map((token) => `${label} contains ${shownToken(token)}, ${adviceFor(token)}`))
    notes.push(
      ...replaced.map((name) => `${label}: ${name} is a setting of Toolroom, so its default is used`),
    )
    forbidden.push(...own.map((name) => `${label} refers to ${name}, which is a setting of Toolroom`))
  }
  const ownVariables = new Set(Object.keys(definition.env ?? {}))
  const translated = changeTexts(definition, ({ path, label, text }) => {
    const field = path.split('/')[1] as Field
    const { home, project, ...others } = sourceOf(field)
    const result = translateReferences(text, {
      ...others,
      // They have the user's name, which goes to no other computer.
      ...(!LEAVING.includes(field) && { project, ...(home !== undefined && { home }) }),
      // A program such as mcp-remote replaces the variables in its arguments by those of its environment.
      ...(field === 'args' && { ownVariables }),
    })
    report(label, result)
    return result.text
  })
  const inPlace = (field: 'command' | 'cwd', text: string): string => {
    const { forms: _, ...source } = sourceOf(field)
    const result = translateReferences(text, { ...source, forms: NO_REFERENCES })
    report(field, result)
    return result.text
  }
  const { command, args = [], cwd } = definition
  for (const index of shellScripts(command ?? '', args))
    if (args[index]?.includes('$'))
      notes.push(`argument ${index + 1} is a script of a shell and stays as it is; add its variables to env`)
  return {
    definition: {
      ...translated,
      ...(command !== undefined && { command: inPlace('command', command) }),
      ...(typeof cwd === 'string' && { cwd: inPlace('cwd', cwd) }),
    },
    notes,
    problem: forbidden.length > 0 ? `${forbidden[0]}; use another variable or a named secret` : undefined,
  }
}

const LEAVING: readonly Field[] = ['headers', 'url']

/** Where no reference is resolved, only the folders of an editor are replaced. */
const NO_REFERENCES: Source['forms'] = new Set(['input'])

/** A reference for a message, without what follows its name: that may be a default that is a secret. */
const shownToken = (token: string): string =>
  /^\$?\{\w+\}$/.test(token) ? token : `${/^\$?\{\w*:?/.exec(token)?.[0] ?? ''}…}`

const adviceFor = (token: string): string =>
  /^\$\{(?:workspace|cwd|file|relative)/.test(token)
    ? 'which depends on an open folder; write the path instead'
    : 'which is kept as text'

/** What the user has to know before an imported definition works. */
export const importNotes = (definition: Carrier): string[] => [
  ...referenceNotes(definition),
  ...containerNotes(definition),
]

const MAX_NOTES = 20

/** What the references of an imported definition need. */
function referenceNotes(definition: Carrier): string[] {
  const notes = referencesIn(definition).map(({ label, reference }) => {
    const { kind, name, fallback } = reference
    const to = `${label} refers to ${writeReference({ kind, name, fallback: null })}`
    if (fallback !== null) return `${to}, with a default`
    return kind === 'env'
      ? `${to}: set ${name} in the environment of Toolroom`
      : `${to}: set the secret ${name}`
  })
  const distinct = [...new Set(notes)]
  const more = distinct.length - MAX_NOTES
  return more > 0 ? [...distinct.slice(0, MAX_NOTES), `${more} more values refer to variables`] : distinct
}
