import { AppError } from '../../kernel/errors.ts'
import { type Form, isReference, parseReferences, type Reference } from '../../kernel/secrets/references.ts'
import { changeTexts } from '../../servers/shared/definition/definition-references.ts'
import type { Agent } from './agent-record.ts'
import type { Definition } from './server-definition.ts'

/** The forms of the catalogue. Others have no counterpart. */
const FORMS: readonly (readonly [start: string, form: Form])[] = [
  ['${env:', 'env'],
  ['${input:', 'input'],
  ['${{ secrets.', 'actions'],
  ['{env:', 'curly'],
  ['${VAR', 'braces'],
  ['$VAR', 'dollar'],
  ['%VAR%', 'percent'],
]
const NONE: ReadonlySet<Form> = new Set()

/** How an agent refers to variables in a field. Empty: it resolves nothing there. */
export function formsOf({ interpolation }: Agent, field: string): ReadonlySet<Form> {
  if (!interpolation) return NONE
  const { syntax, fields } = interpolation
  if (!fields.includes(field) && !fields.includes('all text')) return NONE
  return new Set(
    FORMS.filter(([start]) => syntax.some((text) => text.startsWith(start))).map(([, form]) => form),
  )
}

/** A registered server's definition as the agent's own file has to express it. Throws when the agent cannot resolve it. */
export function forAgent(agent: Agent, name: string, definition: Definition): Definition {
  return changeTexts(definition, ({ path, label, text }) => {
    const forms = formsOf(agent, path.split('/')[1] ?? '')
    return parseReferences(text)
      .map((part) => {
        if (typeof part === 'string') return part
        if (!isReference(part)) return part.malformed
        const written = writtenAs(part, forms, agent)
        if (written !== undefined) return written
        const what = part.kind === 'secret' ? 'a secret of Toolroom' : 'an environment variable'
        const message = `'${name}': ${label} refers to ${what}, which ${agent.name} cannot resolve there`
        throw new AppError('not_supported', message, { hint: 'Send "via": "gateway"' })
      })
      .join('')
  })
}

function writtenAs(
  { kind, name, fallback }: Reference,
  forms: ReadonlySet<Form>,
  agent: Agent,
): string | undefined {
  if (kind === 'secret') return undefined
  const hasDefaults = agent.interpolation?.syntax.some((text) => text.includes(':-')) ?? false
  if (fallback !== null && !hasDefaults) return undefined
  const rest = fallback === null ? name : `${name}:-${fallback}`
  if (forms.has('braces')) return `\${${rest}}`
  if (fallback !== null) return undefined
  if (forms.has('env')) return `\${env:${name}}`
  return forms.has('curly') ? `{env:${name}}` : undefined
}
