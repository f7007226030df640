import { createHash } from 'node:crypto'
import { sorted } from '../../kernel/json/sorted-keys.ts'
import { memo } from '../../kernel/memo.ts'
import type { Definition } from '../../mcp/protocol/listed-definitions.ts'

/** SHA-256 of a definition, independent of the order of its keys. */
export const hashOf = memo((definition: Definition): string =>
  createHash('sha256')
    .update(JSON.stringify(sorted(definition)))
    .digest('hex'),
)

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
