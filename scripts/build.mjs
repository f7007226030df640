// npm run build: bundles src into dist. A few large files start about twice as fast as the separate packages.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { decode, encode } from '@jridgewell/sourcemap-codec'
import { rolldown } from 'rolldown'
import { buildDocs } from './build-docs.mjs'
import { buildWeb } from './build-web.mjs'
import { fail, filesUnder, packagesOf, root, seconds } from './lib.mjs'
import { buildHashes, readBuilt } from './prepare.mjs'

const ENTRIES = {
  main: 'src/main.ts',
  'store-worker': 'src/store/thread/worker.ts',
  'sample-server': 'src/servers/sample/notes-server.ts',
}
/** Bundled separately as CommonJS, which can be loaded with V8's code cache: see src/cli/code-cache.ts. */
const SERVICE = 'src/compose/up.ts'
/** Packages that load files of their own at run time: a native addon, and the pages of Swagger UI. */
const EXTERNAL = [/^@photostructure\/sqlite/, /^@fastify\/swagger-ui/]

/**
 * What the commands have in common, with what that imports, in few files, because each file takes a millisecond to load.
 * `base` is all that a completion needs beside the table. `wire` is what the bridge needs, too. Questions, browsers, jobs
 * and input are loaded only when they are needed.
 */
const BASE =
  /\/(?:config\/(?:paths|find-running-instance)|kernel\/(?:exit-codes|did-you-mean|version|json\/json-checks))\.ts$/
const WIRE = /\/(?:net\/http-client|config\/parse-flags|run\/service-address)\.ts$/
const CLI_FILES = [
  { name: 'base', test: BASE },
  { name: 'wire', test: WIRE },
  { name: 'table', test: /\/cli\/(?:dispatch|commands\/(?!help)|run\/command\.|servers\/isolation-flags)/ },
  { name: 'run', test: /\/cli\/(?:run\/(?!ask|browser|follow|stdin)|servers\/any-server)/ },
].map((group, at, { length }) => ({ ...group, priority: length - at }))

/**
 * Each part of the service with everything that it imports and no earlier part has. Each file takes a millisecond to load,
 * so nothing that two parts share becomes a file of its own.
 */
const SERVICE_FILES = [
  { name: 'gateway-and-servers', test: /\/compose\/up\.ts$/ },
  { name: 'http-servers', test: /\/compose\/(?:http-servers|packages)\.ts$/ },
  { name: 'rest', test: /\/compose\/rest\.ts$/ },
].map((part, at, { length }) => ({ ...part, priority: length - at }))

/** The main file is UMD, whose `require` is a parameter that no bundler can follow. */
const ALIAS = { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' }

const startedAt = performance.now()
const hashes = buildHashes() // before reading the sources, so that an edit during the build makes it stale
const built = readBuilt()
/** The packages whose code is in each part: their licences are part of what is published. */
const packages = { ...built?.packages }
const scratch = `dist/.tmp-${process.pid}` // inside dist: ignored by git, and rename stays on one disk
process.once('exit', () => rmSync(join(root, scratch), { recursive: true, force: true }))

if (!existsSync(join(root, ENTRIES.main))) fail(`Cannot build: ${ENTRIES.main} does not exist`)
await buildStale().catch(({ message }) =>
  fail(process.stderr.isTTY ? message : stripVTControlCharacters(message)),
)
const files = moveIntoPlace()
const bytes = files.reduce((sum, file) => sum + statSync(join(root, 'dist', file)).size, 0)
const took = seconds(performance.now() - startedAt)
console.log(`Built dist in ${took}: ${files.length} files, ${(bytes / 1e6).toFixed(1)} MB with source maps`)

/** The service, the dashboard and the guide are independent: what has not changed stays as it is. */
async function buildStale() {
  if (isStale('service')) packages.service = await bundle()
  if (isStale('web')) packages.web = await buildWeb(`${scratch}/web`)
  if (isStale('docs')) buildDocs(`${scratch}/docs`)
}

function isStale(part) {
  return (
    built?.hashes?.[part] !== hashes[part] ||
    !built.files.every((file) => existsSync(join(root, 'dist', file)))
  )
}

function partOf(file) {
  return /^(web|docs)\//.exec(file)?.[1] ?? 'service'
}

/**
 * Bundles each entry separately, because the store thread must not load code that only the service needs. Modules that
 * main.ts imports dynamically become chunks, so that the bridge, which agents start often, loads only a few kilobytes.
 */
async function bundle() {
  const up = await bundleEntry('up', SERVICE, {
    codeSplitting: { groups: SERVICE_FILES },
    entryFileNames: '[name]-[hash].cjs',
    chunkFileNames: '[name]-[hash].cjs',
  })
  const UP_FILE = up.find(({ isEntry }) => isEntry).fileName
  const chunks = [...up]
  for (const [name, path] of Object.entries(ENTRIES))
    chunks.push(...(await bundleEntry(name, path, { define: { UP_FILE: JSON.stringify(UP_FILE) } })))
  chmodSync(join(root, scratch, 'main.js'), 0o755)
  // Node loads CommonJS files several milliseconds faster than ES modules.
  writeFileSync(join(root, scratch, 'package.json'), '{ "type": "commonjs" }\n')
  return packagesOf(chunks)
}

/** @returns the chunks that were written */
async function bundleEntry(name, path, { define = {}, ...more }) {
  const bundler = await rolldown({
    cwd: root,
    input: { [name]: path },
    platform: 'node',
    external: EXTERNAL,
    resolve: { alias: ALIAS },
    // The entry stays in the file of its part.
    ...(name === 'up' && { preserveEntrySignatures: 'allow-extension' }),
    tsconfig: join(root, 'tsconfig.json'),
    transform: { target: 'node20.19', define },
    onLog(level, log, handle) {
      // A warning in our own code stops the build; warnings in packages do not.
      const ours = log.id?.startsWith(join(root, 'src'))
      handle(level === 'warn' && ours ? 'error' : level, log)
    },
  })
  const { output } = await bundler.write({
    dir: scratch,
    format: 'cjs',
    sourcemap: true,
    codeSplitting: name === 'main' && { groups: CLI_FILES },
    // Smaller files and less memory; functions and classes keep their names, so that stack traces are readable.
    minify: { compress: true, mangle: { keepNames: true }, codegen: { removeWhitespace: true } },
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    banner: (chunk) => (chunk.isEntry && name === 'main' ? '#!/usr/bin/env node' : ''),
    ...more,
  })
  await bundler.close()
  const names = output.map(({ fileName }) => `./${fileName}`)
  for (const { fileName, code = '' } of output.filter(({ type }) => type === 'chunk')) {
    const required = [...code.matchAll(/\brequire\(["'`](\.{1,2}\/[^"'`]*)/g)].map(([, name]) => name)
    const left = required.find((name) => !names.includes(name))
    if (left) throw new Error(`${fileName} still requires '${left}', which is not in dist: see ALIAS`)
  }
  if (name === 'up')
    for (const { fileName } of output.filter(({ type }) => type === 'chunk'))
      wrapAsAscii(join(root, scratch, fileName))
  return output
}

/**
 * As the function that src/cli/code-cache.ts calls, in ASCII: V8 stores that in half the memory and parses it twice as fast.
 * The strings keep their values.
 */
function wrapAsAscii(file) {
  const text = readFileSync(file, 'utf8')
  if (/String\.raw`[^`]*[\u0080-\uffff]/.test(text))
    throw new Error(`${file} has a String.raw template with non-ASCII characters, which would change`)
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  const body = text.replace(/[\u0080-\uffff]/g, escaped)
  writeFileSync(file, `(function (exports, require, module, __filename, __dirname) {\n${body}\n})`)
  const map = JSON.parse(readFileSync(`${file}.map`, 'utf8'))
  const mappings = `;${movedBy(text, map.mappings)}` // for the line before the body
  writeFileSync(`${file}.map`, JSON.stringify({ ...map, mappings }))
}

/** The mappings of a source map after each character that is not ASCII became six. */
function movedBy(text, mappings) {
  const lines = text.split('\n')
  return encode(
    decode(mappings).map((segments, line) => {
      const wide = [...lines[line].matchAll(/[\u0080-\uffff]/g)].map(({ index }) => index)
      let before = 0
      return segments.map(([column, ...source]) => {
        while (wide[before] < column) before += 1
        return [column + 5 * before, ...source]
      })
    }),
  )
}

/**
 * Renames file by file, chunks first and entries last: a start at any moment loads either the old main.js with its old
 * chunks or the new one with the new, and a complete dist always exists.
 * The chunks of the previous build stay, for a running service or an open page that loads one later.
 */
function moveIntoPlace() {
  const made = filesUnder(scratch).map((file) => file.slice(scratch.length + 1))
  const before = built?.files ?? []
  rmSync(join(root, 'dist/.built'), { force: true })
  for (const file of made.toSorted((a, b) => Number(isEntry(a)) - Number(isEntry(b)))) {
    mkdirSync(dirname(join(root, 'dist', file)), { recursive: true })
    renameSync(join(root, scratch, file), join(root, 'dist', file))
  }
  const parts = new Set(made.map(partOf))
  const current = [...made, ...before.filter((file) => !parts.has(partOf(file)))]
  const wanted = new Set([...current, ...before])
  for (const file of filesUnder('dist').map((path) => path.slice('dist/'.length))) {
    if (!wanted.has(file) && !file.startsWith('.tmp-')) rmSync(join(root, 'dist', file))
  }
  removeAbandoned()
  writeFileSync(join(root, 'dist/.built'), JSON.stringify({ hashes, files: current, packages }))
  return current
}

/** Removes scratch folders of killed builds. */
function removeAbandoned() {
  for (const name of readdirSync(join(root, 'dist'))) {
    if (!name.startsWith('.tmp-')) continue
    try {
      process.kill(Number(name.slice('.tmp-'.length)), 0)
    } catch {
      rmSync(join(root, 'dist', name), { recursive: true, force: true })
    }
  }
}

function isEntry(file) {
  return file === 'web/index.html' || Object.keys(ENTRIES).some((name) => file === `${name}.js`)
}
