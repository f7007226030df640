import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GOOSE, put } from '../../../test/support/agents.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { leastCpuMs } from '../../../test/support/measuring.ts'
import { AUTHORISED, openTestService } from '../../../test/support/test-service.ts'
import { CannotEdit, type Format } from './format.ts'
import { jsonFormat } from './json/json-format.ts'
import { tomlFormat } from './toml/toml-format.ts'
import { yamlFormat } from './yaml/yaml-format.ts'

const LEVELS = 50_000
const json = jsonFormat({ comments: true, trailingCommas: true, bom: true })
const indented = Array.from({ length: 500 }, (_, level) => `${' '.repeat(level)}a:\n`).join('')
const dotted = `{ ${'a.'.repeat(98)}a = `

test.each<[string, Format, string]>([
  ['YAML in brackets', yamlFormat, '['.repeat(LEVELS)],
  ['YAML in closed brackets', yamlFormat, `a: ${'['.repeat(LEVELS)}${']'.repeat(LEVELS)}`],
  ['YAML in braces', yamlFormat, `a: ${'{b: '.repeat(LEVELS)}`],
  ['YAML in dashes', yamlFormat, '- '.repeat(LEVELS)],
  ['YAML in question marks', yamlFormat, '? '.repeat(LEVELS)],
  ['YAML by indentation', yamlFormat, indented],
  ['JSON in brackets', json, `{"a": ${'['.repeat(LEVELS)}`],
  ['JSON in braces', json, '{"a":'.repeat(LEVELS)],
  ['TOML in brackets', tomlFormat, `a = ${'['.repeat(LEVELS)}`],
  ['TOML in braces', tomlFormat, `a = ${'{ b = '.repeat(LEVELS)}`],
  ['TOML with dots', tomlFormat, `${'a.'.repeat(LEVELS)}a = 1`],
  ['TOML with dots in a header', tomlFormat, `[${'a.'.repeat(LEVELS)}a]`],
  ['TOML with dots and braces', tomlFormat, `x = ${dotted.repeat(90)}1${'}'.repeat(90)}`],
])(
  '%s, nested thousands of levels deep, is refused with a sentence and a position (safety case 20)',
  (_, format, text) => {
    const reads = [
      () => format.read(text),
      () => format.readAgain(text),
      () => format.set(text, ['x', 'y'], 1),
    ]
    for (const read of reads) expect(read).toThrow(CannotEdit)
    expect(() => format.read(text)).toThrow(/nested|dots/)
  },
)

/** CPU time in milliseconds. */
function cpuOf(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

const cpuMs = (format: Format, text: string): number =>
  cpuOf(() => expect(() => format.read(text)).toThrow(CannotEdit))

test.each<[string, Format, (levels: number) => string]>([
  ['YAML', yamlFormat, (levels) => '- '.repeat(levels)],
  ['YAML in brackets', yamlFormat, (levels) => '['.repeat(levels)],
  ['TOML', tomlFormat, (levels) => `a = ${'['.repeat(levels)}`],
  ['JSON', json, (levels) => '['.repeat(levels)],
])(
  '%s is refused at the first level that is too deep, whatever follows (safety case 20)',
  (_, format, nested) => {
    cpuMs(format, nested(1000))
    const [few, many] = [nested(1000), nested(1_000_000)].map((text) => cpuMs(format, text)) as [
      number,
      number,
    ]
    expect(many).toBeLessThan(20 * Math.max(few, 5)) // the whole text would take 1,000 times as long
  },
)

const servers = (count: number, one: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => one(index)).join('')

test.each([
  [
    'goose',
    GOOSE,
    `extensions:\n${servers(4000, (index) => `  e${index}:\n    type: stdio\n    name: e${index}\n    cmd: npx\n    enabled: true\n`)}`,
    'is larger than 256 KiB; it is neither read nor edited',
  ],
  [
    'codex',
    '.codex/config.toml',
    servers(20_000, (index) => `[mcp_servers.s${index}]\ncommand = "npx"\nargs = ["-y", "pkg-${index}"]\n\n`),
    'is larger than 1 MiB; it is neither read nor edited',
  ],
  [
    'claude-code',
    '.claude.json',
    `{"mcpServers":{${servers(1001, (index) => `"s${index}":{"command":"npx"},`)}"last":{"command":"npx"}}}`,
    'has more than 1000 servers; it is neither read nor edited',
  ],
])(
  'a file of %s that would take long to parse is refused with a sentence and stays as it is (safety case 41)',
  async (agent, path, text, sentence) => {
    const home = ownFolder()
    put(home, path, text)
    const service = await openTestService({ home })
    const read = await service.inject({ url: `/api/agents/${agent}` })
    expect(read.statusCode).toBe(200)
    expect(read.json().scopes[0].problem).toContain(sentence)
    const before = process.cpuUsage()
    const written = await service.inject({
      method: 'PUT',
      url: `/api/agents/${agent}/servers`,
      headers: AUTHORISED,
      payload: { servers: { ours: { command: 'npx' } } },
    })
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000)
    expect(written.json()).toMatchObject({ status: 413, code: 'config_too_large' })
    expect(written.json().detail).toContain(sentence)
    expect(readFileSync(join(home, path), 'utf8')).toBe(text)
  },
)

test('an agent with a thousand servers is read in a few passes over its file, not in one for each (safety goal R9)', async () => {
  const home = ownFolder()
  const listed = servers(990, (index) => `"s${index}": {"command": "npx", "args": ["-y", "p${index}"]},\n`)
  const text = `{"history": ["${'x'.repeat(200_000)}"],\n"mcpServers": {\n${listed}"last": {"command": "x"}\n}}`
  put(home, '.claude.json', text)
  const service = await openTestService({ home })
  const read = async () => (await service.inject({ url: '/api/agents/claude-code' })).json().servers
  expect((await read()).map(({ line }: { line: number }) => line)).toEqual(
    Array.from({ length: 991 }, (_, index) => index + 3),
  )
  // Windows counts processor time in steps of 16 ms.
  const tenPasses = () => Array.from({ length: 10 }, () => json.read(text))
  const onePass = (await leastCpuMs(tenPasses)) / 10
  let changes = 0
  const readAgain = () => {
    changes += 1
    put(home, '.claude.json', `${text}${'\n'.repeat(changes)}`) // one that has not changed is not read again
    return read()
  }
  expect(await leastCpuMs(readAgain)).toBeLessThan(100 * Math.max(onePass, 2)) // a pass for each would be 990
})
