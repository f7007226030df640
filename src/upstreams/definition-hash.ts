import { createHash } from 'node:crypto'
import { memo } from '../kernel/memo.ts'
import type { Definition } from '../protocol/lists.ts'

/** SHA-256 of a definition, independent of the order of its keys. */
export const hashOf = memo((definition: Definition): string =>
  createHash('sha256')
    .update(JSON.stringify(sorted(definition)))
    .digest('hex'),
)

/** The value with all keys sorted, recursively. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [key, sorted(inner)])
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The names of tools that were added, removed or changed. */
export function differenceOf(before: readonly Definition[], after: readonly Definition[]) {
  const hashes = (tools: readonly Definition[]) =>
    new Map(tools.map((tool) => [String(tool.name), hashOf(tool)]))
  const [old, now] = [hashes(before), hashes(after)]
  return {
    added: [...now.keys()].filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !now.has(name)),
    changed: [...now].filter(([name, hash]) => old.has(name) && old.get(name) !== hash).map(([name]) => name),
  }
}
