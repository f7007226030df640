import { expect, test } from 'vitest'
import { tomlFormat } from './toml-format.ts'

const { find, set, remove } = tomlFormat

test('an edit of a file of 1 MB, about the largest that is accepted, takes less than 2 s of CPU', () => {
  const blocks = Array.from(
    { length: 9000 },
    (_, i) =>
      `# server ${i}\n[mcp_servers.s${i}]\ncommand = "npx"\nargs = ["-y", "pkg-${i}"]\nenv = { A = "${i} ${'x'.repeat(30)}" }\n\n`,
  )
  const text = blocks.join('')
  expect(text.length).toBeGreaterThan(1_000_000)
  const edited = quick(() => set(text, ['mcp_servers', 'new'], { command: 'a', env: { A: 'b' } }))
  expect(quick(() => remove(edited.text, ['mcp_servers', 'new'], edited.trace))).toBe(text)
  quick(() => set(text, ['mcp_servers', 's8999'], { command: 'b', args: [], enabled: false }))
  quick(() => find(text, ['mcp_servers', 's4000', 'env']))
})

/**
 * CPU time including garbage collection, because other tests run at the same time: about 0.4 s each on a free core.
 * Quadratic code would take ten seconds and more.
 */
function quick<T>(work: () => T): T {
  const before = process.cpuUsage()
  const result = work()
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(2000)
  return result
}
