import { isObject } from '../../kernel/json/json-checks.ts'
import { ask, canAsk, isYes } from '../run/ask-on-terminal.ts'
import { usage } from '../run/failure.ts'
import { plain } from '../run/printed-line.ts'
import type { Api, Schemas } from '../run/service-client.ts'

type Answer = Schemas['ElicitationAnswer']
type Value = NonNullable<Answer['content']>[string]
type Json = Readonly<Record<string, unknown>>

/** Asks the user what a server wants to know during a call, and sends the answer. Fails without a terminal. */
export async function elicit(api: Api, tool: string, { id, params }: Json): Promise<void> {
  const question = isObject(params) ? params : {}
  const message = plain(String(question.message ?? ''))
  if (!canAsk())
    throw usage(
      `${tool} asks a question, and there is no terminal to ask on: ${message}`,
      'The call was cancelled. Run it in a terminal',
    )
  process.stderr.write(`${message}\n`)
  const body = typeof question.url === 'string' ? await askToOpen(question.url) : await askForm(question)
  await api.post('/api/elicitations/{id}/answer', { path: { id: String(id) }, body })
}

async function askToOpen(url: string): Promise<Answer> {
  const answer = await ask(`Open ${plain(url)} in your browser. Continue? [y/N] `)
  return answer === undefined ? { action: 'cancel' } : { action: isYes(answer) ? 'accept' : 'decline' }
}

/** One question for each field. An empty answer leaves an optional field out. */
async function askForm({ requestedSchema }: Json): Promise<Answer> {
  const { properties, required } = isObject(requestedSchema) ? requestedSchema : {}
  const content: Record<string, Value> = {}
  for (const [name, given] of Object.entries(isObject(properties) ? properties : {})) {
    const field = isObject(given) ? given : {}
    const isRequired = Array.isArray(required) && required.includes(name)
    const value = await askField(name, field, isRequired)
    if (value === 'cancelled') return { action: 'cancel' }
    if (value !== undefined) content[name] = value.value
  }
  const answer = await ask('Send this? [Y/n] ')
  if (answer === undefined) return { action: 'cancel' }
  return answer.trim() === '' || isYes(answer) ? { action: 'accept', content } : { action: 'decline' }
}

async function askField(
  name: string,
  field: Json,
  isRequired: boolean,
): Promise<{ readonly value: Value } | 'cancelled' | undefined> {
  const label = plain(String(field.title ?? field.description ?? name))
  const choices = choicesOf(field)
  const kind = choices.length > 0 ? choices.join(', ') : String(field.type ?? 'string')
  const preset = field.default === undefined ? '' : `, default ${plain(String(field.default))}`
  for (;;) {
    const text = await ask(`  ${label} (${plain(kind)}${isRequired ? '' : ', optional'}${preset}): `)
    if (text === undefined) return 'cancelled'
    if (text.trim() === '' && field.default !== undefined) return { value: field.default as Value }
    if (text.trim() === '' && !isRequired) return undefined
    const value = readValue(text.trim(), field, choices)
    if (value !== undefined) return { value }
    process.stderr.write(`  Not accepted. It must be: ${plain(kind)}\n`)
  }
}

/** The values that are allowed: of a field, or of the items of a list. */
function choicesOf({ enum: names, oneOf, anyOf, items }: Json): string[] {
  if (Array.isArray(names)) return names.map(String)
  const titled = oneOf ?? anyOf
  if (Array.isArray(titled)) return titled.map((one) => String(isObject(one) ? one.const : one))
  return isObject(items) ? choicesOf(items) : []
}

/** Undefined if the text is no such value. A list is separated by commas. */
function readValue(text: string, { type }: Json, choices: readonly string[]): Value | undefined {
  const isAllowed = (one: string) => choices.length === 0 || choices.includes(one)
  if (type === 'array') {
    const items = text.split(',').map((item) => item.trim())
    return items.every(isAllowed) ? items : undefined
  }
  if (type === 'boolean') return /^(?:y|yes|true|n|no|false)$/i.test(text) ? /^[yt]/i.test(text) : undefined
  if (type === 'number' || type === 'integer') {
    const number = text === '' ? Number.NaN : Number(text)
    return Number.isFinite(number) && (type === 'number' || Number.isInteger(number)) ? number : undefined
  }
  return isAllowed(text) && text !== '' ? text : undefined
}
