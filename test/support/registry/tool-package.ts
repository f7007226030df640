import type { TestPackage } from './documents.ts'

interface Options {
  /** Names of its tools; each returns its name and its arguments. */
  readonly tools?: readonly string[]
  /** `two` has the bins `<name>-a` and `<name>-b`, neither of which is the package's name. */
  readonly bin?: 'one' | 'two' | 'none'
  /** Its postinstall script writes the file named by the environment variable CANARY. */
  readonly postinstall?: boolean
  /** Exits immediately with code 3 and a line on stderr. */
  readonly crash?: boolean
  /** Further fields of package.json, such as keywords, engines, dependencies. */
  readonly manifest?: Readonly<Record<string, unknown>>
  /** Further files, such as npm-shrinkwrap.json. */
  readonly files?: Readonly<Record<string, string>>
}

type Facts = Omit<TestPackage, 'name' | 'version' | 'manifest' | 'files'>

/** A package whose program is a real tool server without dependencies. */
export function toolPackage(
  name: string,
  version = '1.0.0',
  { tools = ['echo'], bin = 'one', postinstall, crash, manifest, files, ...facts }: Options & Facts = {},
): TestPackage {
  const short = name.replace(/^@[^/]+\//, '')
  const bins = {
    one: { bin: { [short]: 'server.mjs' } },
    two: { bin: { [`${short}-a`]: 'server.mjs', [`${short}-b`]: 'other.mjs' } },
    none: { main: 'server.mjs' },
  }[bin]
  const scripts = postinstall ? { scripts: { postinstall: 'node canary.mjs' } } : {}
  return {
    name,
    version,
    manifest: {
      description: `The ${short} tools`,
      keywords: ['mcp'],
      license: 'MIT',
      ...bins,
      ...scripts,
      ...manifest,
    },
    files: {
      'server.mjs': crash ? CRASH : serverSource(name, version, tools),
      ...(bin === 'two' && { 'other.mjs': serverSource(name, version, tools) }),
      ...(postinstall && { 'canary.mjs': CANARY }),
      ...files,
    },
    ...facts,
  }
}

const CANARY = `import { writeFileSync } from 'node:fs'
if (process.env.CANARY) writeFileSync(process.env.CANARY, 'an install script ran')
`

const CRASH = `#!/usr/bin/env node
process.stderr.write('Error: the package is broken\\n')
process.exitCode = 3
`

const serverSource = (name: string, version: string, tools: readonly string[]) => `#!/usr/bin/env node
import { createInterface } from 'node:readline'
const tools = ${JSON.stringify(tools)}
const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: protocolVersion ?? '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: ${JSON.stringify({ name, version })},
  }),
  ping: () => ({}),
  'tools/list': () => ({
    tools: tools.map((name) => ({ name, description: 'Answers ' + name, inputSchema: { type: 'object' } })),
  }),
  'tools/call': ({ name, arguments: given }) => {
    if (!tools.includes(name)) throw Object.assign(new Error('Unknown tool: ' + name), { code: -32602 })
    return { content: [{ type: 'text', text: name + ' ' + JSON.stringify(given ?? {}) }] }
  },
}
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  try {
    if (!Object.hasOwn(methods, method)) throw Object.assign(new Error('Method not found'), { code: -32601 })
    send({ id, result: methods[method](params ?? {}) })
  } catch (error) {
    send({ id, error: { code: error.code ?? -32603, message: error.message } })
  }
})
`
