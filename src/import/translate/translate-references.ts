import {
  escapeReferences,
  type Form,
  NAME_PATTERN,
  type Reference,
  writeReference,
} from '../../kernel/secrets/references.ts'

/** The forms in READMEs. `$NAME` and `%NAME%` are too often part of a text. */
export const README_FORMS: ReadonlySet<Form> = new Set(['braces', 'env', 'input', 'curly', 'actions', 'own'])

/** What a reference of another program may mean here. */
export interface Surroundings {
  /** `${userHome}`. */
  readonly home: string
  /** A setting of Toolroom, to which no server may refer. */
  readonly isOwnSetting: (name: string) => boolean
}

export interface Source extends Pick<Surroundings, 'isOwnSetting'>, Partial<Pick<Surroundings, 'home'>> {
  /** Empty: the agent resolves nothing, so everything is text. */
  readonly forms: ReadonlySet<Form>
  /** `${workspaceFolder}`, where it is known. */
  readonly project?: string | undefined
  /** The defaults of inputs, by id. */
  readonly inputs?: ReadonlyMap<string, string>
  /** Variables that the program itself puts in place of `${NAME}`. */
  readonly ownVariables?: ReadonlySet<string>
}

export interface Translated {
  readonly text: string
  /** References of the source that are now text, as `contains …`. */
  readonly kept: readonly string[]
  /** Own settings: those replaced by their default, and those that have none. */
  readonly replaced: readonly string[]
  readonly forbidden: readonly string[]
}

/** Beginnings do not contain each other, and no part contains a brace, so the time is linear. */
const TOKENS =
  /\$\$\{|\$\{\{\s{0,8}secrets\.([\w.-]{1,128})\s{0,8}\}\}|\$\{([^{}]*)\}|\{(env|file):([^{}]*)\}|\$([A-Za-z_]\w*)|%([A-Za-z_]\w*)%/g
const VARIABLE = /^([A-Za-z_]\w{0,127})(?::-(.*))?$/s
const EDITOR =
  /^(?:(?:workspaceFolder|workspaceFolderBasename|workspaceRoot|userHome|pathSeparator|cwd|execPath|defaultBuildTask)|(?:file|relativeFile|line|selected)\w*|\/|(?:command|config|file|localEnv|containerEnv):.*)$/s
const NAME = new RegExp(NAME_PATTERN)

/** A text of an agent or a README in Toolroom's own syntax. */
export function translateReferences(text: string, source: Source): Translated {
  const [kept, replaced, forbidden]: [string[], string[], string[]] = [[], [], []]
  if (source.forms.size === 0) return { text: escapeReferences(text), kept, replaced, forbidden }
  let out = ''
  let literal = ''
  let done = 0
  for (const match of text.matchAll(TOKENS)) {
    const [token] = match
    literal += text.slice(done, match.index)
    done = match.index + token.length
    const meaning = token === '$${' ? 'escape' : meaningOf(match, source)
    if (meaning === 'escape') {
      out += escapeReferences(literal) + token
      literal = ''
    } else if (typeof meaning === 'string') literal += meaning
    else if (meaning === undefined || literal.endsWith('$') || source.ownVariables?.has(meaning.name)) {
      // A reference after a `$` cannot be written.
      literal += token
      if (isVariable(token)) kept.push(token)
    } else if (meaning.kind === 'env' && source.isOwnSetting(meaning.name)) {
      if (meaning.fallback === null) forbidden.push(meaning.name)
      else replaced.push(meaning.name)
      literal += meaning.fallback ?? token
    } else {
      out += escapeReferences(literal) + writeReference(meaning)
      literal = ''
    }
  }
  return { text: out + escapeReferences(literal + text.slice(done)), kept, replaced, forbidden }
}

const isVariable = (token: string): boolean => token.startsWith('${') || token.startsWith('{')

/** A reference, the text it stands for, or undefined: not a reference that can be translated. */
function meaningOf(match: RegExpMatchArray, source: Source): Reference | string | undefined {
  const { forms } = source
  const [, action, inner, curly, curlyName, dollar, percent] = match
  const variable = (name: string, fallback: string | null = null): Reference | undefined =>
    NAME.test(name) ? { kind: 'env', name, fallback } : undefined
  if (action !== undefined) return forms.has('actions') ? secret(action) : undefined
  if (curly !== undefined)
    return curly === 'env' && forms.has('curly') ? variable(curlyName?.trim() ?? '') : undefined
  if (dollar !== undefined) return forms.has('dollar') ? variable(dollar) : match[0]
  if (percent !== undefined) return forms.has('percent') ? variable(percent) : match[0]
  return inner === undefined ? undefined : inBraces(inner, source)
}

function inBraces(inner: string, { forms, home, project, inputs }: Source): Reference | string | undefined {
  const colon = inner.indexOf(':')
  const [prefix, rest] = [inner.slice(0, Math.max(colon, 0)), inner.slice(colon + 1)]
  if (prefix === 'env' || prefix === 'secret') {
    const [, name = '', fallback] = VARIABLE.exec(rest) ?? []
    const isKnown = forms.has(prefix === 'env' ? 'env' : 'own') && name !== ''
    return isKnown ? { kind: prefix, name, fallback: fallback ?? null } : undefined
  }
  if (prefix === 'input') return forms.has('input') ? secret(rest, inputs?.get(rest)) : undefined
  if (inner === 'userHome') return home
  if (inner === 'workspaceFolder') return project
  if (EDITOR.test(inner) || !forms.has('braces')) return undefined
  const [, name = '', fallback] = VARIABLE.exec(inner) ?? []
  return name === '' ? undefined : { kind: 'env', name, fallback: fallback ?? null }
}

/** The id of an input as the name of a secret. A default with braces could not be written. */
function secret(id: string, fallback?: string): Reference {
  const name = id
    .replace(/[^A-Za-z0-9_.-]+/g, '-')
    .replace(/^[^A-Za-z0-9_]+/, '')
    .slice(0, 128)
  const isWritable = fallback !== undefined && !/[{}]/.test(fallback)
  return { kind: 'secret', name: name || 'input', fallback: isWritable ? fallback : null }
}
