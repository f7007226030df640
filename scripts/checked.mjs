// When, with which version and at which commit real agents, clients and servers were last tried, and what changed since.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './lib.mjs'

/** The code that each file of results judges, and the command that renews it. */
const FILES = {
  'docs/agents-checked.json': { command: 'npm run verify:agents', judges: ['src/agents'] },
  'docs/gateway-checked.json': {
    command: 'npm run verify:gateway',
    judges: [
      'src/agents',
      'src/cli',
      'src/gateway',
      'src/api/http',
      'src/mcp',
      'src/mcp/protocol',
      'src/servers/shared',
    ],
  },
  'docs/sandbox-checked.json': {
    command: 'npm run verify:sandbox',
    judges: ['src/servers/stdio/actions', 'src/supervisor/places/sandbox'],
  },
}
const NOT_TESTS = ':(exclude)*.test.ts'

/**
 * For a row of results: the date, the version of Toolroom and the commit, which is null if the judged code had
 * uncommitted changes or there is no git.
 */
export function stamp(file, folder = root) {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const isClean = git(folder, 'status', '--porcelain', '--', ...FILES[file].judges) === ''
  const commit = isClean ? (git(folder, 'rev-parse', 'HEAD') ?? null) : null
  return { date: new Date().toISOString().slice(0, 10), toolroom: version, commit }
}

/** @returns {string[]} a sentence for each file whose results are older than the code, or cannot be compared with it */
export function staleResults(folder = root) {
  return Object.keys(FILES).flatMap((file) => (existsSync(join(folder, file)) ? staleIn(folder, file) : []))
}

function staleIn(folder, file) {
  const rows = JSON.parse(readFileSync(join(folder, file), 'utf8'))
  const commits = [...new Set(rows.map(({ commit }) => commit ?? null))]
  return commits.flatMap((commit) => {
    const own = rows.filter((row) => (row.commit ?? null) === commit)
    const what = `${file}: ${namesIn(own)} of ${own[0].date ?? 'an unknown date'}`
    const why = changeSince(folder, commit, FILES[file].judges)
    return why ? [`${what} ${why}. To renew: ${FILES[file].command}`] : []
  })
}

function changeSince(folder, commit, judges) {
  if (git(folder, 'rev-parse', '--git-dir') === undefined)
    return 'cannot be compared with the code, because this is not a git checkout'
  if (!commit) return 'were made with uncommitted changes'
  if (git(folder, 'cat-file', '-e', `${commit}^{commit}`) === undefined)
    return `cannot be compared with the code, because this checkout does not contain commit ${commit.slice(0, 7)}`
  const changed = git(folder, 'diff', '--name-only', commit, '--', ...judges, NOT_TESTS)
  const count = changed?.split('\n').filter(Boolean).length ?? 0
  if (count === 0) return undefined
  return `are older than the code: ${count} files changed since commit ${commit.slice(0, 7)}`
}

const namesIn = (rows) =>
  [...new Set(rows.map(({ agent, client, server }) => agent ?? client ?? server))].join(', ')

/** @returns its output; undefined if it failed */
function git(folder, ...args) {
  try {
    const options = { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 26 }
    return execFileSync('git', ['-c', 'safe.directory=*', ...args], options).trim()
  } catch {
    return undefined // no git, not a checkout, or an unknown commit
  }
}
