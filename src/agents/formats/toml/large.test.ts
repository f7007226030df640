import { expect, test } from 'vitest'
import { tomlFormat } from './toml-format.ts'

const { find, set, remove } = tomlFormat

test('an edit of a 5 MB file takes less than 5 s', () => {
  const blocks = Array.from(
    { length: 42_000 },
    (_, i) =>
      `# server ${i}\n[mcp_servers.s${i}]\ncommand = "npx"\nargs = ["-y", "pkg-${i}"]\nenv = { A = "${i} ${'x'.repeat(30)}" }\n\n`,
  )
  const text = blocks.join('')
  expect(text.length).toBeGreaterThan(5_000_000)
  const edited = quick(() => set(text, ['mcp_servers', 'new'], { command: 'a', env: { A: 'b' } }))
  expect(quick(() => remove(edited.text, ['mcp_servers', 'new'], edited.trace))).toBe(text)
  quick(() => set(text, ['mcp_servers', 's41999'], { command: 'b', args: [], enabled: false }))
  quick(() => find(text, ['mcp_servers', 's20000', 'env']))
})

/**
 * CPU time including garbage collection, because other tests run at the same time: about two seconds each on a free
 * core. Quadratic code would take minutes.
 */
function quick<T>(work: () => T): T {
  const before = process.cpuUsage()
  const result = work()
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(5000)
  return result
}
