/**
 * The value with all keys sorted, recursively: for hashes and comparisons that do not depend on their order. A plain loop,
 * because the keys of all tools of all servers pass through it at a start.
 */
export function sorted<T>(value: T): T
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const from = value as Readonly<Record<string, unknown>>
  const result: Record<string, unknown> = {}
  for (const key of Object.keys(from).sort()) {
    const inner = sorted(from[key])
    if (key === '__proto__') Object.defineProperty(result, key, { value: inner, enumerable: true })
    else result[key] = inner
  }
  return result
}
