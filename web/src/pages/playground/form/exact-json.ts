/**
 * JSON in which integers beyond 2^53 stay exact: they are a bigint in memory, and the same digits in the text. Browsers
 * that cannot tell the digits of a number read the nearest one.
 */

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

const exact: Reviver = (_key, value, context) => {
  const source = context?.source
  return typeof value === 'number' && source !== undefined ? integerIn(source, value) : value
}

/** An integer that a number cannot hold becomes a bigint. */
export const integerIn = (text: string, number = Number(text)): number | bigint =>
  /^-?\d+$/.test(text) && !Number.isSafeInteger(number) ? BigInt(text) : number

export const parseExact = (text: string): unknown => JSON.parse(text, exact)

export function jsonText(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${jsonText(member)}`).join(',')}}`
}

/** For what knows only numbers: a validator, a request of the API. */
export function withNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(withNumbers)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withNumbers(member)]))
}

export function hasExact(value: unknown): boolean {
  if (typeof value === 'bigint') return true
  return typeof value === 'object' && value !== null && Object.values(value).some(hasExact)
}
