import { expect, test } from 'vitest'
import { runs } from '../../../../test/support/full-or-short.ts'
import { expectLinear } from '../../../../test/support/linear.ts'
import { tomlFormat } from './toml-format.ts'

const { find, set, remove } = tomlFormat

const fileOf = (servers: number): string =>
  Array.from(
    { length: servers },
    (_, i) =>
      `# server ${i}\n[mcp_servers.s${i}]\ncommand = "npx"\nargs = ["-y", "pkg-${i}"]\nenv = { A = "${i} ${'x'.repeat(30)}" }\n\n`,
  ).join('')

test('the CPU time of an edit grows with the size of a TOML file, and not with its square (safety goal R9)', () => {
  const servers = runs(500, 1000)
  const files = { small: fileOf(servers), large: fileOf(4 * servers) }
  const added = (text: string) => set(text, ['mcp_servers', 'new'], { command: 'a', env: { A: 'b' } })
  const edited = { small: added(files.small), large: added(files.large) }
  expect(remove(edited.large.text, ['mcp_servers', 'new'], edited.large.trace)).toBe(files.large)
  expectLinear((size) => added(files[size]))
  expectLinear((size) => remove(edited[size].text, ['mcp_servers', 'new'], edited[size].trace))
  expectLinear((size) =>
    set(files[size], ['mcp_servers', 's450'], { command: 'b', args: [], enabled: false }),
  )
  expectLinear((size) => find(files[size], ['mcp_servers', 's450', 'env']))
})
