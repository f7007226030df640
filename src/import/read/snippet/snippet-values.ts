import { listed, refusal, shown } from './snippet-error.ts'
import { isFields } from './snippet-find.ts'

const MAX_EXACT = 10n ** 40n

/** env or headers as a map of strings. Numbers and booleans are converted, with a note. */
export function textMap(value: unknown, what: 'env' | 'header', notes: string[]): Record<string, string> {
  if (value === undefined || value === null) return {}
  const map = what === 'env' ? 'env' : 'headers'
  if (!isFields(value)) throw refusal(`Its ${map} must be an object; write {"NAME": "value"}`)
  const converted: string[] = []
  const pairs = Object.entries(value).map(([key, item]) => {
    if (key === '__proto__' || key === '') throw refusal(`Its ${map} contains an invalid name; rename it`)
    if (typeof item !== 'string') converted.push(key)
    return [key, textOf(item, `${what} ${shown(key)}`)] as const
  })
  if (converted.length > 0)
    notes.push(`Values without quotes were converted to strings: ${what} ${listed(converted)}`)
  return Object.fromEntries(pairs)
}

export function textList(value: readonly unknown[], what: string, notes: string[]): string[] {
  const converted: string[] = []
  const texts = value.map((item, index) => {
    const label = `${what} ${index + 1}`
    if (typeof item !== 'string') converted.push(label)
    return textOf(item, label)
  })
  if (converted.length > 0)
    notes.push(`Values without quotes were converted to strings: ${listed(converted)}`)
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
    throw refusal(`The number in ${label} is too large to be exact; put it in quotes`)
  }
  if (value === null) throw refusal(`The value of ${label} is null; use a string or remove it`)
  throw refusal(`The value of ${label} is not a string; put it in quotes`)
}
