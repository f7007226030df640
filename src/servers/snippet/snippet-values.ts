import { listed, refusal, shown } from './snippet-error.ts'
import { isFields } from './snippet-find.ts'

const MAX_EXACT = 10n ** 40n

/** env or headers: a map of texts. Numbers and booleans become texts, with a note. */
export function textMap(value: unknown, what: 'env' | 'header', notes: string[]): Record<string, string> {
  if (value === undefined || value === null) return {}
  const map = what === 'env' ? 'env' : 'headers'
  if (!isFields(value)) throw refusal(`Its ${map} cannot be read; write {"NAME": "value"}`)
  const turned: string[] = []
  const pairs = Object.entries(value).map(([key, item]) => {
    if (key === '__proto__' || key === '')
      throw refusal(`Its ${map} has a name that cannot be used; rename it`)
    if (typeof item !== 'string') turned.push(key)
    return [key, textOf(item, `${what} ${shown(key)}`)] as const
  })
  if (turned.length > 0) notes.push(`These were not in quotes and became texts: ${what} ${listed(turned)}`)
  return Object.fromEntries(pairs)
}

export function textList(value: readonly unknown[], what: string, notes: string[]): string[] {
  const turned: string[] = []
  const texts = value.map((item, index) => {
    const label = `${what} ${index + 1}`
    if (typeof item !== 'string') turned.push(label)
    return textOf(item, label)
  })
  if (turned.length > 0) notes.push(`These were not in quotes and became texts: ${listed(turned)}`)
  return texts
}

function textOf(value: unknown, label: string): string {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'bigint' && value < MAX_EXACT && value > -MAX_EXACT) return String(value)
  if (typeof value === 'number' && Number.isFinite(value)) {
    if (!Number.isInteger(value) || Number.isSafeInteger(value)) return String(value)
  }
  if (typeof value === 'number' || typeof value === 'bigint') {
    throw refusal(`The number in ${label} is too long to be kept exactly; put it in quotes`)
  }
  if (value === null) throw refusal(`The value of ${label} is null; write a text or remove it`)
  throw refusal(`The value of ${label} is not a text; put it in quotes`)
}
