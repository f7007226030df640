import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { generatedFile } from '../../../test/support/formats/json-generated.ts'
import { madeFile } from '../../../test/support/formats/toml-generated.ts'
import { sample } from '../../../test/support/formats/yaml-sample.ts'
import { runs } from '../../../test/support/full-or-short.ts'
import { computer } from '../../../test/support/test-computer.ts'
import { AppError } from '../../kernel/errors.ts'
import type { ConfigTarget } from '../catalogue/agent-catalogue.ts'
import { GATEWAY_ENTRY, gatewayEntry, readGatewayEntry } from '../catalogue/gateway-entry.ts'
import { agentOf, configTarget } from '../files/config-target.ts'
import type { FileRecord } from '../files/ownership-store.ts'
import { contentOf } from '../files/read-config.ts'
import { readEntries } from '../read/read-entries.ts'
import type { DesiredEntry } from './desired-entry.ts'
import { type CurrentConfig, type Plan, planSet } from './entry-plan.ts'
import { currentConfig, planFile } from './file-plan.ts'
import { planDisconnect, planRemove } from './removal-plans.ts'
import { planReplace, takeOver } from './take-over.ts'

const GATEWAY = {
  address: () => 'http://127.0.0.1:1',
  data: '/data',
  program: { command: 'node', mainFile: 'main.js', keep: async () => {} },
}

const targetOf = (agent: string): ConfigTarget => configTarget(agentOf(agent), computer({ os: 'linux' }), {})

/** One file of an agent, to which changes are made in memory. */
class File {
  readonly #target: ConfigTarget
  text: string
  record: FileRecord | undefined

  constructor(agent: string, text: string) {
    this.#target = targetOf(agent)
    this.text = text
  }

  change(planFor: (target: ConfigTarget, current: CurrentConfig) => Plan) {
    const { agent, config } = this.#target
    const content = contentOf(config.path, Buffer.from(this.text))
    const current = currentConfig(this.#target, content, this.record, undefined)
    const done = planFile(this.#target, current, planFor(this.#target, current))
    this.text = done.text
    this.record = {
      agent_type: agent.type,
      scope: 'user',
      project_path: null,
      path: config.path,
      key_path: config.keyPath,
      trace: done.trace,
      made_file: done.madeFile,
      entries: done.plan.entries,
      taken_over: done.takenOver,
    }
    return done
  }

  connect(names: readonly string[], key = 'tk_1') {
    return this.change((target, current) => {
      const offered = current.entries
        .filter(({ name }) => names.includes(name))
        .map((entry) => ({ entry, scope: 'user', server_id: entry.name, tools: [] }))
      return takeOver(
        target,
        planSet(target, current, [entryOf(target, key)], { replace: false }),
        current,
        offered,
      )
    })
  }

  /** An entry for each server, under its old name. */
  keepNames(names: readonly string[], key = 'tk_1') {
    return this.change((target, current) =>
      planReplace(
        target,
        current,
        current.entries
          .filter((entry) => names.includes(entry.name) || readGatewayEntry(entry.definition))
          .map((entry) => ({
            entry,
            by: entryOf(target, key, entry.name.replace(/[^\w.-]/g, '-') || 'unnamed'),
          })),
      ),
    )
  }

  disconnect() {
    return this.change(planDisconnect)
  }

  /** The entries that lead to the gateway. */
  leading(): string[] {
    const { entries } = readEntries(this.#target, this.text)
    return entries.filter(({ definition }) => readGatewayEntry(definition)).map(({ name }) => name)
  }

  names(): string[] {
    return readEntries(this.#target, this.text).entries.map(({ name }) => name)
  }
}

function entryOf({ agent }: ConfigTarget, key: string, server: string | null = null): DesiredEntry {
  const definition = gatewayEntry(GATEWAY, { key, serverId: server, bridge: agent.http === null })
  const name = server ?? GATEWAY_ENTRY
  return { name, server_id: server, definition: () => definition, enabled: undefined }
}

const OTHER: DesiredEntry = {
  name: 'other',
  server_id: null,
  definition: () => ({ type: 'stdio', command: 'npx', args: ['-y'], env: {}, cwd: null }),
  enabled: undefined,
}

const tape = fc.array(fc.nat(999), { maxLength: 160, size: 'max' })
const FORMATS: [string, string, fc.Arbitrary<string>][] = [
  ['JSON', 'cursor', tape.map((list) => generatedFile(list, { isStrict: true }))],
  ['JSONC', 'github-copilot-cli', tape.map((list) => generatedFile(list))],
  ['TOML', 'codex', tape.map((list) => madeFile(list).text)],
  ['a list in TOML', 'mistral-vibe', tape.map((list) => madeFile(list).text)],
  ['YAML', 'goose', sample.map(({ text }) => text)],
  ['a list in YAML', 'continue', sample.map(({ text }) => text)],
]

/** A file that cannot be edited safely is refused as a whole, and nothing is written. */
function mayBeRefused(work: () => void): boolean {
  try {
    work()
    return true
  } catch (error) {
    if (error instanceof AppError && error.code === 'config_unparsable') return false
    throw error
  }
}

describe('a take-over', () => {
  test.each(FORMATS)(
    'connecting with a take-over and disconnecting restores every byte of a file in %s',
    (_, agent, texts) => {
      let restored = 0
      const property = fc.property(texts, fc.nat(7), fc.nat(3), (text, some, way) => {
        const file = new File(agent, text)
        const [isLonger, keepsNames] = [way % 2 === 1, way > 1]
        const connect = (chosen: readonly string[], key: string) =>
          keepsNames ? file.keepNames(chosen, key) : file.connect(chosen, key)
        let names: string[] = []
        const isDone = mayBeRefused(() => {
          names = file
            .names()
            .filter((name, index) => name !== GATEWAY_ENTRY && (some >> (index % 3)) % 2 === 0)
          connect(names, 'tk_1')
          if (!isLonger) return
          file.change((target, current) => planSet(target, current, [OTHER], { replace: false }))
          connect([], 'tk_2')
          file.change((target, current) => planRemove(target, current, [OTHER.name]))
        })
        if (!isDone) return
        if (keepsNames) expect(file.leading()).toEqual(names)
        else for (const name of names) expect(file.names()).not.toContain(name)
        expect(file.disconnect().plan.restored).toEqual(names)
        expect(file.text).toBe(text)
        expect(file.record).toMatchObject({ taken_over: null, entries: {} })
        if (names.length > 0) restored += 1
      })
      fc.assert(property, { numRuns: runs(60, 2000), seed: 20261116 })
      expect(restored).toBeGreaterThan(5)
    },
  )

  const JSONC = `// mine
{
  "theme": "dark",
  "mcpServers": {
    // the first
    "github": { "command": "npx", "args": ["-y", "github"] }, // of github
    "theirs": { "command": "x" },
    "files": {
      "command": "files" // why
    }
  },
  "last": true
}
`

  test('an entry comes back with its comments and at its place when another program has changed other parts of the file', () => {
    const file = new File('github-copilot-cli', JSONC)
    file.connect(['github', 'files'])
    expect(file.names()).toEqual(['theirs', 'toolroom'])
    file.text = file.text.replace('"dark"', '"light"').replace('"last": true', '"last": false')
    expect(file.disconnect().plan).toMatchObject({ restored: ['github', 'files'], warnings: [] })
    expect(file.text).toBe(JSONC.replace('"dark"', '"light"').replace('"last": true', '"last": false'))
  })

  test('only our keys change when another program has written to the same lines', () => {
    const file = new File('github-copilot-cli', JSONC)
    file.connect(['github', 'files'])
    const { mcpServers, ...rest } = JSON.parse(file.text.replace(/\/\/ .*/g, ''))
    const rewritten = { ...rest, mcpServers: { ...mcpServers, added: { command: 'y' } } }
    file.text = JSON.stringify(rewritten)
    file.disconnect()
    expect(JSON.parse(file.text)).toEqual({
      theme: 'dark',
      last: true,
      mcpServers: {
        theirs: { command: 'x' },
        added: { command: 'y' },
        github: { command: 'npx', args: ['-y', 'github'] },
        files: { command: 'files' },
      },
    })
  })

  test('an entry for each server keeps the comments and other fields of the one that it replaces; removed by name, that one does not come back', () => {
    const file = new File('github-copilot-cli', JSONC)
    const { plan } = file.keepNames(['github', 'files'])
    expect(plan).toMatchObject({ updated: ['github', 'files'], takenNow: ['github', 'files'], removed: [] })
    expect(file.names()).toEqual(['github', 'theirs', 'files'])
    expect(file.text).toContain('// the first')
    expect(file.text).not.toContain('npx')
    const again = file.keepNames([], 'tk_2')
    expect(again.plan).toMatchObject({ updated: ['github', 'files'], takenNow: [] })
    expect(file.text).not.toContain('tk_1')
    file.text = file.text.replace('"dark"', '"light"')
    file.change((target, current) => planRemove(target, current, ['github']))
    expect(file.disconnect().plan).toMatchObject({ restored: ['files'] })
    expect(file.names()).toEqual(['theirs', 'files'])
    expect(file.text).toContain('"command": "files" // why')
  })

  test('removing everything of ours brings back what the entries for single servers replaced, and one that another program wrote again stays', () => {
    const file = new File('cursor', '{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}')
    const before = file.text
    file.keepNames(['a', 'b'])
    file.change((target, current) => planSet(target, current, [OTHER], { replace: false }))
    file.change(planRemove)
    expect([file.text, file.record?.entries]).toEqual([before, {}])
    file.keepNames(['a', 'b'])
    const now = JSON.parse(file.text)
    file.text = JSON.stringify({ mcpServers: { ...now.mcpServers, a: { command: 'theirs' } } })
    expect(file.disconnect().plan).toMatchObject({
      restored: ['b'],
      warnings: [expect.stringContaining("'a' is in the file again")],
    })
    expect(JSON.parse(file.text)).toEqual({ mcpServers: { a: { command: 'theirs' }, b: { command: 'b' } } })
    expect(file.record?.entries).toEqual({})
  })

  test('an entry that another program added again stays, and the report says so', () => {
    const file = new File('cursor', '{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}')
    file.connect(['a', 'b'])
    const now = JSON.parse(file.text)
    file.text = JSON.stringify({ mcpServers: { ...now.mcpServers, a: { command: 'theirs' } } })
    const { plan } = file.disconnect()
    expect(plan).toMatchObject({
      restored: ['b'],
      warnings: [expect.stringContaining("'a' is in the file again")],
    })
    expect(JSON.parse(file.text)).toEqual({ mcpServers: { a: { command: 'theirs' }, b: { command: 'b' } } })
  })

  test('a parked entry that is removed by name does not come back', () => {
    const file = new File(
      'cursor',
      '{\n  "mcpServers": {\n    "a": {"command": "a"},\n    "b": {"command": "b"}\n  }\n}\n',
    )
    file.connect(['a', 'b'])
    file.change((target, current) => planRemove(target, current, ['a']))
    file.disconnect()
    expect(file.text).toBe('{\n  "mcpServers": {\n    "b": {"command": "b"}\n  }\n}\n')
  })
})
