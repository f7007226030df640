import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join, posix, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/**
 * The wings, from the bottom to the top: a wing is a folder of src/, and main.ts is the only file beside them. Each says
 * which wings it may import, and in which order its folders stand: a folder imports only those before it. `.` stands for
 * the files of the wing itself. A folder of a wing is named as `api/client`.
 */
const WINGS: Readonly<Record<string, Wing>> = {
  kernel: {
    imports: [],
    folders: ['.', 'async', 'json', 'secrets', 'containers', 'files', 'http', 'config'],
  },
  net: { imports: ['kernel'], folders: ['.', 'oauth'] },
  mcp: { imports: ['kernel', 'net'], folders: ['protocol', 'client', 'transports'] },
  supervisor: {
    imports: ['kernel', 'mcp/protocol'],
    folders: ['platform', 'process', 'places', 'exit', 'orphans', '.'],
  },
  servers: {
    imports: ['kernel', 'net', 'mcp/protocol'],
    types: ['mcp/transports', 'supervisor'],
    folders: [
      'shared',
      'jobs',
      'isolation',
      'orphans',
      'apps',
      'packages',
      'logins',
      'http',
      'stdio',
      'tries',
      'sample',
    ],
  },
  agents: {
    imports: ['kernel', 'servers/shared'],
    folders: ['catalogue', 'formats', 'diff', 'files', 'read', 'edit', '.'],
  },
  import: { imports: ['kernel', 'servers', 'agents'], folders: ['translate', 'read', '.'] },
  gateway: {
    imports: ['kernel', 'mcp/protocol', 'mcp/client', 'servers/shared'],
    folders: ['messages', 'keys', 'pins', 'catalogue', 'presets', 'sessions', 'notify', 'endpoint', '.'],
  },
  observe: {
    imports: ['kernel', 'mcp/protocol', 'servers/shared'],
    folders: ['.', 'logs', 'calls', 'metrics', 'events', 'notices', 'health', 'live'],
  },
  api: { imports: ['kernel'], folders: ['client', 'http', 'settings', 'sign-in', 'secrets', 'redact'] },
  store: {
    imports: ['kernel'],
    types: ['servers', 'agents', 'gateway', 'observe', 'api/secrets', 'net/oauth'],
    folders: ['sqlite', 'configuration', 'calls', 'logs', 'metrics', 'thread', '.'],
  },
  cli: {
    imports: ['kernel', 'net', 'mcp/protocol', 'api/client'],
    folders: [
      'run',
      'service',
      'agents',
      'servers',
      'packages',
      'tools',
      'data',
      'watch',
      'autostart',
      'bridge',
      'doctor',
      'first-run',
      'commands',
      'completion',
      '.',
    ],
  },
  compose: { imports: 'all', folders: ['.'] },
  'main.ts': { imports: 'all', folders: [] },
}
const MOST_WINGS = 13

/** Libraries that only certain folders may import, so that replacing one means editing one folder. */
const HOMES: readonly Home[] = [
  {
    name: '`fastify`, `@fastify/*`',
    library: /^(fastify|@fastify\/.+)$/,
    home: /^(api\/http\/|.+\.routes\.ts$)/,
    say: 'api/http/ and *.routes.ts',
  },
  {
    name: '`kysely`, `@photostructure/sqlite`, `node:sqlite`',
    library: /^(kysely|@photostructure\/sqlite|node:sqlite)$/,
    home: /^store\//,
    say: 'store/',
  },
  { name: '`ws`', library: /^ws$/, home: /^api\/http\//, say: 'api/http/' },
  { name: '`node:worker_threads`', library: /^node:worker_threads$/, home: /^store\//, say: 'store/' },
  {
    name: '`node:child_process`',
    library: /^node:child_process$/,
    home: /^(supervisor|cli|kernel\/config\/system)\//,
    say: 'supervisor/, cli/ and kernel/config/system/',
  },
  {
    name: '`@koromix/*`',
    library: /^@koromix\//,
    home: /^supervisor\/platform\/windows\//,
    say: 'supervisor/platform/windows/',
  },
  { name: '`oauth4webapi`', library: /^oauth4webapi$/, home: /^net\/oauth\//, say: 'net/oauth/' },
  {
    name: '`@modelcontextprotocol/*`, in tests only so far',
    library: /^@modelcontextprotocol\//,
    home: /^(mcp|gateway)\//,
    say: 'mcp/ and gateway/',
  },
]

/**
 * The files of src/ that read files themselves, each with what it reads. Everything that Toolroom did not write itself
 * (agents' and projects' files, packages, .env, .npmrc, scripts) is read with `kernel/files/foreign-file.ts`, which neither
 * waits for a FIFO nor reads more than its limit.
 */
const READERS: Readonly<Record<string, string>> = {
  'kernel/files/foreign-file.ts': 'every foreign file',
  'kernel/files/durable-file.ts': 'opens what it creates, and folders',
  'agents/files/file-backups.ts': 'our backups',
  'agents/files/agent-lock.ts': 'our notes about locks',
  'kernel/config/config.ts': 'the file named by --env-file, which may be a pipe',
  'kernel/config/secret-key.ts': 'our key',
  'servers/sample/sample.service.ts': 'copies our own program',
  'servers/sample/notes-server.ts': 'the notes of the sample server, as a program of its own',
  'kernel/config/auth-token.ts': 'our token',
  'kernel/config/system/port-owner.ts': '/proc',
  'kernel/config/system/data-folder.ts': 'a database that `openForeign` has opened, in parts',
  'kernel/config/find-running-instance.ts': 'our instance.json, /proc',
  'kernel/config/npx-program-copy.ts': 'copies our own program',
  'supervisor/places/sandbox/open-real.ts': 'opens no file to read it, only to mount it',
  'supervisor/places/sandbox/sandbox-user.ts': '/proc',
  'supervisor/places/sandbox/sandbox.ts': '/proc',
  'supervisor/platform/unix/started-on-unix.ts': '/dev/null',
  'api/http/doc-pages.ts': 'our guide',
  'api/http/swagger-ui.ts': 'our assets',
  'api/http/serve-dashboard.ts': 'our assets',
  'store/instance-lock.ts': 'our instance.json',
  'store/configuration/open-configuration-database.ts': 'our database and its backups',
  'store/sqlite/database-file.ts': 'our databases',
  'supervisor/process/process-mark.ts': 'our mark',
  'supervisor/platform/linux/cgroups.ts': '/proc',
  'supervisor/platform/linux/linux.ts': '/proc and /etc/passwd',
  'supervisor/platform/linux/network-mounts.ts': '/proc',
  'supervisor/platform/linux/proc.ts': '/proc',
  'supervisor/places/sandbox/lost-files.ts': 'opens folders, and reads no contents',
  'cli/bridge/start-service.ts': 'our claim',
  'cli/code-cache.ts': 'our program',
  'cli/completion/candidates.ts': 'our cache',
  'cli/doctor/checks.ts': '/proc',
  'cli/run/service-client.ts': 'our token',
  'cli/service/start-detached.ts': 'opens the log of the service that it starts',
  'cli/service/stop-service.ts': '/proc',
}
const READS =
  /\b(?:readFile(?:Sync)?|readv?Sync|open(?:Sync|AsBlob)?|createReadStream|copyFile(?:Sync)?|cp(?:Sync)?)\b/g

const LONGEST_FILE = 350
const MEDIAN_FILE = 100
const MOST_FILES = 22

interface Wing {
  /** Wings, or folders of wings, that it may import. Its own files are always allowed. */
  readonly imports: readonly string[] | 'all'
  /** Wings from which it may import types only, with `import type`. */
  readonly types?: readonly string[]
  /** Its folders, from the bottom to the top. */
  readonly folders: readonly string[]
}

interface Home {
  readonly name: string
  readonly library: RegExp
  readonly home: RegExp
  readonly say: string
}

interface Import {
  readonly specifier: string
  readonly typeOnly: boolean
}

const src = fileURLToPath(new URL('../src', import.meta.url))
const sources = readSources()

describe('architecture', () => {
  test(`src has at most ${MOST_WINGS} wings, and each folder is in the table`, () => {
    const unlisted = readdirSync(src).filter((name) => !(name in WINGS))
    expect(unlisted.map((name) => `src/${name} is not in the table of wings`)).toEqual([])
    expect(readdirSync(src).filter((name) => !name.endsWith('.ts')).length).toBeLessThanOrEqual(MOST_WINGS)
  })

  test('every wing imports only the wings that the table allows', () => {
    expect(eachImport(forbiddenWing)).toEqual([])
  })

  test('inside a wing, a folder imports only those that stand before it in the table', () => {
    expect(eachImport(upwardImport)).toEqual([])
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

describe('ARCHITECTURE.md', () => {
  const page = readFileSync(join(src, '../ARCHITECTURE.md'), 'utf8')

  test('it shows the tables of this test; npm test -- test/architecture.test.ts -u writes them', async () => {
    const listed = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ')
    const wings = Object.entries(WINGS).map(([name, { imports, types = [], folders }]) => {
      const below = imports === 'all' ? 'all' : listed(imports) || 'nothing'
      return `| \`${name}\` | ${below} | ${listed(types)} | ${listed(folders)} |`
    })
    const homes = HOMES.map(({ name, say }) => `| ${name} | ${say} |`)
    const tables = {
      wings: [
        '| Wing | May import | May use the types of | Its folders, from the bottom |',
        '|---|---|---|---|',
        ...wings,
      ],
      libraries: ['| Library | Home |', '|---|---|', ...homes],
    }
    const written = page.replace(
      /(?<=<!-- (wings|libraries) -->\n)[\s\S]*?(?=<!-- \/)/g,
      (_, name: keyof typeof tables) => `${tables[name].join('\n')}\n`,
    )
    await expect(written).toMatchFileSnapshot('../ARCHITECTURE.md')
  })

  test('every file and folder that it names exists', () => {
    const named = [...page.matchAll(/`((?:[a-z-]+\/)+[\w.-]*)`/g)].map(([, path = '']) =>
      path.replace(/\/$/, ''),
    )
    const inSource = named.filter((path) => wingOf(path) in WINGS)
    const missing = inSource.filter(
      (path) => !existsSync(join(src, path)) && !existsSync(join(src, `${path}.ts`)),
    )
    expect(inSource.length).toBeGreaterThan(80)
    expect(missing).toEqual([])
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

function forbiddenWing(file: string, { specifier, typeOnly }: Import): string | undefined {
  if (!specifier.startsWith('.')) return undefined
  const wing = wingOf(file)
  const target = targetOf(file, specifier)
  if (target === '../package.json' || isApiTypes(target, typeOnly)) return undefined
  if (target.startsWith('../')) return `src/${file} imports ${specifier}, which is outside src/`
  const { imports = [], types = [] } = WINGS[wing] ?? {}
  const isIn = (places: readonly string[]) => places.some((place) => target.startsWith(`${place}/`))
  if (wingOf(target) === wing || imports === 'all' || isIn(imports)) return undefined
  if (!isIn(types)) return `src/${file}: the wing '${wing}' may not import '${target}'`
  if (typeOnly) return undefined
  return `src/${file}: the wing '${wing}' may import only types of '${target}': use \`import type\``
}

/** Between the folders of one wing. */
function upwardImport(file: string, { specifier }: Import): string | undefined {
  const wing = wingOf(file)
  const folders = WINGS[wing]?.folders ?? []
  const target = targetOf(file, specifier)
  if (!specifier.startsWith('.') || wingOf(target) !== wing) return undefined
  const [from, to] = [folderOf(file), folderOf(target)]
  if (!folders.includes(from)) return `src/${wing}/${from} is not in the table of wings`
  if (folders.indexOf(to) <= folders.indexOf(from)) return undefined
  return `src/${file}: ${from} may not import ${to}, which stands above it (${specifier})`
}

function forbiddenLibrary(file: string, { specifier }: Import): string | undefined {
  const rule = HOMES.find(({ library }) => library.test(specifier))
  if (!rule || rule.home.test(file)) return undefined
  return `src/${file}: the wing '${wingOf(file)}' imports ${specifier}, which only ${rule.say} may import`
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

function wingOf(file: string): string {
  return file.split('/')[0] ?? file
}

/** The folder of a wing, or `.` for a file of the wing itself. */
function folderOf(file: string): string {
  return file.split('/').length > 2 ? (file.split('/')[1] ?? '.') : '.'
}

/** All source files except tests, which may import anything. */
function readSources(): Map<string, string> {
  const files = readdirSync(src, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
    .map((entry) => relative(src, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort()
  return new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]))
}
