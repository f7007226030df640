// npm run verify:sandbox: finds out what popular servers need in isolation, and runs them with this isolation.
// Not part of `npm run check`, because it installs third-party programs, about a gigabyte. They are deleted afterwards.
//   npm run verify:sandbox -- memory playwright@0.0.83     only these, in these versions
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stamp } from './checked.mjs'
import { fail, findOnPath, root, runTool, say, seconds } from './lib.mjs'
import { prepare } from './prepare.mjs'
import { table } from './verify-sandbox/report.mjs'
import { SERVERS } from './verify-sandbox/servers.mjs'
import { openTestBed } from './verify-sandbox/test-bed.mjs'
import { tryServer } from './verify-sandbox/try-server.mjs'

const FILE = 'docs/sandbox-checked.json'
const CHECKED = join(root, FILE)

if (process.platform !== 'linux') fail('verify:sandbox needs Linux with bubblewrap')
const chromium =
  findOnPath('chromium', 'chromium-browser', 'google-chrome') ?? fail('verify:sandbox needs Chromium in PATH')
const chosen = choose(process.argv.slice(2))
await prepare()

const bed = await openTestBed()
const rows = []
try {
  for (const { server, wanted } of chosen) rows.push(await check(server, wanted))
} finally {
  await bed.close()
}
console.log(table(rows))
await keep(rows)
if (rows.some(({ failures }) => failures.length > 0)) process.exitCode = 1

async function check(server, wanted) {
  const startedAt = performance.now()
  const row = { server: server.name, package: server.package, version: null }
  try {
    say(`${server.name}: installing …`)
    const { version } = await bed.install(server.package, wanted)
    row.version = version
    say(`${server.name} ${version}: trying …`)
    const gateway = server.gateway && (await bed.offer(server.gateway, 'echo'))
    const found = await tryServer(bed.request, bed.home, server, { page: bed.page, chromium, gateway })
    say(`${server.name} ${version}: done in ${seconds(performance.now() - startedAt)}`)
    return { ...row, ...found }
  } catch (error) {
    // A failure of one server must not hide the results of the others.
    const reason = [error.message, error.cause?.message ?? ''].join(' ').trim()
    return { ...row, failures: [reason.replaceAll(bed.home, '~')] }
  }
}

/** Keeps the rows of servers that were not part of this run, or could not be tried. */
async function keep(fresh) {
  const before = existsSync(CHECKED) ? JSON.parse(readFileSync(CHECKED, 'utf8')) : []
  const kept = SERVERS.flatMap(({ name }) => {
    const found = fresh.find(({ server, tools }) => server === name && tools !== undefined)
    return found ? [stamped(found)] : before.filter(({ server }) => server === name)
  })
  writeFileSync(CHECKED, `${JSON.stringify(kept, null, 2)}\n`)
  await runTool('biome', ['format', '--write', CHECKED], { quiet: true })
}

function stamped({ server, package: name, version, ...row }) {
  return { server, package: name, version, ...stamp(FILE), node: process.versions.node, ...row }
}

function choose(args) {
  if (args.length === 0) return SERVERS.map((server) => ({ server, wanted: 'latest' }))
  return args.map((arg) => {
    const [word, wanted = 'latest'] = arg.split('@')
    const server = SERVERS.find(({ name }) => name === word)
    const names = SERVERS.map(({ name }) => name).join(', ')
    return server ? { server, wanted } : fail(`Unknown server '${word}'. Choose from: ${names}`)
  })
}
