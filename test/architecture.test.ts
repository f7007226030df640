import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join, posix, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/**
 * Which room may import which. A room is a folder of src/; main.ts is the only file beside them.
 * A new room adds one line here. Code that two rooms need moves down to `kernel`, `protocol` or `upstreams`, or they
 * communicate through an event.
 */
const ROOMS: Record<string, Rule> = {
  kernel: { imports: [] },
  config: { imports: ['kernel'] },
  protocol: { imports: ['kernel'] },
  net: { imports: ['kernel'] },
  upstreams: { imports: ['kernel', 'protocol'] },

  servers: { imports: ['kernel', 'protocol', 'upstreams'] },
  'http-servers': { imports: ['kernel', 'protocol', 'net', 'upstreams', 'oauth'] },
  calls: { imports: ['kernel', 'protocol', 'upstreams'] },
  logs: { imports: ['kernel', 'protocol'] },
  agents: { imports: ['kernel', 'upstreams'] },
  packages: { imports: ['kernel', 'net', 'upstreams'] },
  jobs: { imports: ['kernel'] },
  isolation: { imports: ['kernel'] },
  settings: { imports: ['kernel', 'config'] },
  login: { imports: ['kernel'] },
  apps: { imports: ['kernel', 'protocol', 'upstreams'] },
  oauth: { imports: ['kernel', 'net', 'upstreams'] },
  client: { imports: [] },
  secrets: { imports: ['kernel'] },
  health: { imports: ['kernel'] },
  notices: { imports: ['kernel', 'upstreams'] },
  events: { imports: ['kernel'] },
  live: { imports: ['kernel', 'upstreams'] },
  processes: { imports: ['kernel'] },
  redact: { imports: ['kernel'] },
  transfer: { imports: ['kernel', 'upstreams'] },
  metrics: { imports: ['kernel', 'upstreams'] },

  supervisor: { imports: ['kernel', 'protocol'] },
  mcp: { imports: ['kernel', 'protocol', 'net'] },
  telemetry: { imports: ['kernel'] },
  gateway: { imports: ['kernel', 'protocol', 'upstreams'] },
  store: {
    imports: ['kernel'],
    types: [
      'servers',
      'http-servers',
      'calls',
      'logs',
      'metrics',
      'health',
      'notices',
      'events',
      'agents',
      'packages',
      'secrets',
      'oauth',
      'gateway',
      'upstreams',
    ],
  },

  http: { imports: ['kernel'] },
  cli: { imports: ['kernel', 'protocol', 'net', 'config', 'client'] },

  compose: { imports: 'all' },
  'main.ts': { imports: 'all' },
}

/** Libraries that only certain folders may import, so that replacing one means editing one folder. */
const HOMES: readonly Home[] = [
  {
    library: /^(fastify|@fastify\/.+)$/,
    home: /^(http\/|.+\.routes\.ts$)/,
    types: /^compose\/service\.ts$/,
    say: 'http/ and *.routes.ts (and, for its types, compose/service.ts)',
  },
  { library: /^(kysely|@photostructure\/sqlite|node:sqlite)$/, home: /^store\//, say: 'store/' },
  { library: /^ws$/, home: /^http\//, say: 'http/' },
  { library: /^node:worker_threads$/, home: /^store\//, say: 'store/' },
  {
    library: /^node:child_process$/,
    home: /^(supervisor|cli|config\/system)\//,
    say: 'supervisor/, cli/ and config/system/',
  },
  { library: /^@koromix\//, home: /^supervisor\/platform\/windows\//, say: 'supervisor/platform/windows/' },
  { library: /^oauth4webapi$/, home: /^oauth\//, say: 'oauth/' },
  { library: /^@modelcontextprotocol\//, home: /^(mcp|gateway)\//, say: 'mcp/ and gateway/' },
]

/**
 * The files of src/ that read files themselves, each with what it reads. Everything that Toolroom did not write itself
 * (agents' and projects' files, packages, .env, .npmrc, scripts) is read with `kernel/files/foreign-file.ts`, which neither
 * waits for a FIFO nor reads more than its limit.
 */
const READERS: Readonly<Record<string, string>> = {
  'kernel/files/foreign-file.ts': 'every foreign file',
  'kernel/files/durable-file.ts': 'opens what it creates, and folders',
  'agents/files/backups.ts': 'our backups',
  'agents/files/agent-lock.ts': 'our notes about locks',
  'config/config.ts': 'the file named by --env-file, which may be a pipe',
  'config/secret-key.ts': 'our key',
  'config/token.ts': 'our token',
  'config/system/port-listener.ts': '/proc',
  'config/data-folder.ts': 'a database that `openForeign` has opened, in parts',
  'config/running-instance.ts': 'our instance.json, /proc',
  'config/lasting-program.ts': 'copies our own program',
  'http/doc-pages.ts': 'our guide',
  'http/docs.ts': 'our assets',
  'http/web.ts': 'our assets',
  'store/instance-lock.ts': 'our instance.json',
  'store/configuration/open-file.ts': 'our database and its backups',
  'store/sqlite/data-file.ts': 'our databases',
  'supervisor/process/mark.ts': 'our mark',
  'supervisor/platform/linux/cgroup.ts': '/proc',
  'supervisor/platform/linux/linux-table.ts': '/proc',
  'supervisor/platform/linux/proc.ts': '/proc',
  'supervisor/platform/unix/adoption.ts': '/etc/passwd',
  'supervisor/places/sandbox/lost-files.ts': 'opens folders, and reads no contents',
  'cli/compiled.ts': 'our program',
  'cli/completion/cache.ts': 'our cache',
  'cli/doctor/toolroom-findings.ts': '/proc',
  'cli/frame/service-client.ts': 'our token',
  'cli/service/start-detached.ts': 'opens the log of the service that it starts',
  'cli/service/stop-service.ts': '/proc',
}
const READS =
  /\b(?:readFile(?:Sync)?|readv?Sync|open(?:Sync|AsBlob)?|createReadStream|copyFile(?:Sync)?|cp(?:Sync)?)\b/g

const LONGEST_FILE = 350
const MEDIAN_FILE = 100
const MOST_FILES = 22

interface Rule {
  /** Rooms it may import. Its own files are always allowed. */
  readonly imports: readonly string[] | 'all'
  /** Rooms from which it may import types only, with `import type`. */
  readonly types?: readonly string[]
}

interface Home {
  readonly library: RegExp
  readonly home: RegExp
  readonly types?: RegExp
  readonly say: string
}

interface Import {
  readonly specifier: string
  readonly typeOnly: boolean
}

const src = fileURLToPath(new URL('../src', import.meta.url))
const sources = readSources()

describe('architecture', () => {
  test('every folder of src is in the table of rooms', () => {
    const unlisted = readdirSync(src).filter((name) => !(name in ROOMS))
    expect(unlisted.map((name) => `src/${name} is not in the table of rooms`)).toEqual([])
  })

  test('every room imports only the rooms that the table allows', () => {
    expect(eachImport(forbiddenRoom)).toEqual([])
  })

  test('libraries are imported only from the folders that the table allows', () => {
    expect(eachImport(forbiddenLibrary)).toEqual([])
  })

  test('relative imports name an existing source file, with its extension', () => {
    expect(eachImport(invalidPath)).toEqual([])
  })

  test('a file that another program may replace is opened only by kernel/files/foreign-file.ts, so that a FIFO cannot freeze the service (safety rule D3)', () => {
    const found = [...sources].flatMap(([file, text]) => readsIn(text).map((call) => ({ file, call })))
    const direct = found.filter(({ file }) => !(file in READERS))
    expect(
      direct.map(
        ({ file, call }) => `src/${file} uses ${call}: read foreign files with kernel/files/foreign-file.ts`,
      ),
    ).toEqual([])
    const used = new Set(found.map(({ file }) => file))
    expect(Object.keys(READERS).filter((file) => !used.has(file))).toEqual([])
  })

  test('in supervisor/, only platform/ and the sandbox of Linux know the operating system', () => {
    const found = [...sources].filter(
      ([file, text]) =>
        file.startsWith('supervisor/') &&
        !/^supervisor\/(?:platform|places\/sandbox)\//.test(file) &&
        /process\.platform|['"`]\/proc\b/.test(text),
    )
    expect(found.map(([file]) => file)).toEqual([])
  })

  test('no module of Node is imported dynamically, because that fails in a bundle loaded from the code cache', () => {
    const found = [...sources]
      .filter(([, text]) => /\bimport\(\s*['"`]node:/.test(text))
      .map(([file]) => file)
    expect(found, 'use process.getBuiltinModule').toEqual([])
  })

  test('there are no import cycles', () => {
    expect(cycles().map((path) => `Import cycle: ${path.join(' → ')}`)).toEqual([])
  })

  test(`no folder lists more than ${MOST_FILES} source files`, () => {
    const counts = new Map<string, number>()
    for (const file of sources.keys()) {
      const folder = posix.dirname(file)
      counts.set(folder, (counts.get(folder) ?? 0) + 1)
    }
    const full = [...counts].filter(([, count]) => count > MOST_FILES)
    expect(full.map(([folder, count]) => `src/${folder} lists ${count} files: group them by topic`)).toEqual(
      [],
    )
  })

  test(`no file is longer than ${LONGEST_FILE} lines and the median is under ${MEDIAN_FILE}`, () => {
    const sizes = [...sources].map(([file, text]) => ({ file, lines: text.trimEnd().split('\n').length }))
    const long = sizes.filter(({ lines }) => lines > LONGEST_FILE)
    const median = sizes.map(({ lines }) => lines).sort((a, b) => a - b)[Math.floor(sizes.length / 2)]

    expect(
      long.map(({ file, lines }) => `src/${file} has ${lines} lines, more than ${LONGEST_FILE}: split it`),
    ).toEqual([])
    expect(median ?? 0).toBeLessThan(MEDIAN_FILE)
  })
})

describe('import parser', () => {
  test.each<[string, Import[]]>([
    [`import { a } from './a.ts'`, [{ specifier: './a.ts', typeOnly: false }]],
    [`import type { A } from './a.ts'`, [{ specifier: './a.ts', typeOnly: true }]],
    [`import a, {\n  type B,\n} from "./a.ts";`, [{ specifier: './a.ts', typeOnly: false }]],
    [`import * as a from './a.ts'`, [{ specifier: './a.ts', typeOnly: false }]],
    [`import type from './a.ts'`, [{ specifier: './a.ts', typeOnly: false }]],
    [`import './a.ts'`, [{ specifier: './a.ts', typeOnly: false }]],
    [`export * from './a.ts'`, [{ specifier: './a.ts', typeOnly: false }]],
    [`export type { A } from './a.ts'`, [{ specifier: './a.ts', typeOnly: true }]],
    [`const a = await import('./a.ts')`, [{ specifier: './a.ts', typeOnly: false }]],
    [`const a = load('node:sqlite')`, [{ specifier: 'node:sqlite', typeOnly: false }]],
    [`import { fork } from 'child_process'`, [{ specifier: 'node:child_process', typeOnly: false }]],
    [`// import { a } from './a.ts'\n/* export * from './b.ts' */`, []],
    [`export const a = 1\nconst from = './a.ts'`, []],
  ])('%s', (text, found) => {
    expect(importsOf(text)).toEqual(found)
  })
})

function forbiddenRoom(file: string, { specifier, typeOnly }: Import): string | undefined {
  if (!specifier.startsWith('.')) return undefined
  const room = roomOf(file)
  const target = targetOf(file, specifier)
  if (target === '../package.json' || isApiTypes(target, typeOnly)) return undefined
  if (target.startsWith('../')) return `src/${file} imports ${specifier}, which is outside src/`
  const { imports = [], types = [] } = ROOMS[room] ?? {}
  const other = roomOf(target)
  if (other === room || imports === 'all' || imports.includes(other)) return undefined
  if (!types.includes(other))
    return `src/${file}: the room '${room}' may not import '${other}' (${specifier})`
  if (typeOnly) return undefined
  return `src/${file}: the room '${room}' may import only types from '${other}': use \`import type\` for ${specifier}`
}

function forbiddenLibrary(file: string, { specifier, typeOnly }: Import): string | undefined {
  const rule = HOMES.find(({ library }) => library.test(specifier))
  if (!rule || rule.home.test(file) || (typeOnly && rule.types?.test(file))) return undefined
  return `src/${file}: the room '${roomOf(file)}' imports ${specifier}, which only ${rule.say} may import`
}

/** Generated from the OpenAPI document of the built service. */
const isApiTypes = (target: string, typeOnly: boolean): boolean =>
  typeOnly && target === '../web/generated/api.d.ts'

function invalidPath(file: string, { specifier, typeOnly }: Import): string | undefined {
  if (!specifier.startsWith('.') || specifier.endsWith('.json')) return undefined
  if (!specifier.endsWith('.ts')) return `src/${file}: the import of ${specifier} must end in .ts`
  const target = targetOf(file, specifier)
  if (sources.has(target) || isApiTypes(target, typeOnly)) return undefined
  return `src/${file}: ${specifier} is not a source file of the service`
}

/** Depth-first search over all files. Type imports count too: files that need each other's types belong together. */
function cycles(): string[][] {
  const found: string[][] = []
  const done = new Set<string>()
  function visit(file: string, path: readonly string[]): void {
    const start = path.indexOf(file)
    if (start >= 0) found.push([...path.slice(start), file])
    if (start >= 0 || done.has(file)) return
    for (const { specifier } of importsOf(sources.get(file) ?? '')) {
      if (specifier.startsWith('.')) visit(targetOf(file, specifier), [...path, file])
    }
    done.add(file)
  }
  for (const file of sources.keys()) visit(file, [])
  return found
}

function eachImport(judge: (file: string, found: Import) => string | undefined): string[] {
  return [...sources].flatMap(([file, text]) => importsOf(text).flatMap((found) => judge(file, found) ?? []))
}

function importsOf(source: string): Import[] {
  const text = withoutComments(source)
  const statements = [...text.matchAll(STATEMENT)].map(({ groups }) => ({
    specifier: nameOf(groups?.specifier ?? ''),
    typeOnly: groups?.type !== undefined,
  }))
  const calls = [...text.matchAll(CALL)]
    .map(({ groups }) => ({
      called: groups?.called,
      specifier: nameOf(groups?.specifier ?? ''),
      typeOnly: false,
    }))
    .filter(
      ({ called, specifier }) => called === 'import' || HOMES.some(({ library }) => library.test(specifier)),
    )
    .map(({ specifier, typeOnly }) => ({ specifier, typeOnly }))
  return [...statements, ...calls]
}

/** The functions of node:fs that a file imports in order to open or read files. */
function readsIn(source: string): string[] {
  const imports = withoutComments(source).matchAll(
    /import\s+([^'"]*?)\s+from\s+['"](?:node:)?fs(?:\/promises)?['"]/g,
  )
  return [...imports].flatMap(([, names = '']) =>
    names.includes('{') ? (names.match(READS) ?? []) : [`all of node:fs (${names})`],
  )
}

/** Matches `import … from 'x'`, `export … from 'x'` and `import 'x'`, over several lines, up to the first quote. */
const STATEMENT =
  /^[ \t]*(?:import|export)\b(?:(?<type>[ \t]+type\b(?!\s+from\b))?[^'"`;=()]*?\bfrom)?\s*['"](?<specifier>[^'"]+)['"]/gm

/** Matches `import('x')`, and calls of any function with a library of the table, such as `require('ws')`. */
const CALL = /\b(?<called>\w+)\(\s*['"](?<specifier>[^'"]+)['"]\s*\)/g

/** A comment must follow white space, so that `https://` and `/api/*` in a string are kept. */
function withoutComments(text: string): string {
  return text.replace(/(^|\s)\/\*[\s\S]*?\*\//g, '$1').replace(/(^|\s)\/\/.*$/gm, '$1')
}

function nameOf(specifier: string): string {
  return builtinModules.includes(specifier) ? `node:${specifier}` : specifier
}

function targetOf(file: string, specifier: string): string {
  return posix.normalize(posix.join(posix.dirname(file), specifier))
}

function roomOf(file: string): string {
  return file.split('/')[0] ?? file
}

/** All source files except tests, which may import anything. */
function readSources(): Map<string, string> {
  const files = readdirSync(src, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
    .map((entry) => relative(src, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort()
  return new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]))
}
