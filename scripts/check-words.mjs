// Words that must not be committed. They are split in two here, or this file would find itself.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { filesUnder, root } from './lib.mjs'

const CODE = /\.(ts|tsx|js|mjs|cjs)$/
/** Documents and non-test code: what users and maintainers read. */
const PROSE = /^(?:(?:src|docs|scripts|bench)\/|[^/]+\.md$|\.env\.example$)/
const TEST = /\.test\.tsx?$/
const RULES = [
  {
    why: 'a path that exists on one machine only',
    words: [new RegExp(`(?<![\\w.:/@-])/(${'wo' + 'rk'}|${'fa' + 'rm'})(?=/)`), ...checkoutPath()],
  },
  {
    why: 'the host of a package registry',
    words: [
      new RegExp(`registry\\.${'npm' + 'js'}\\.`),
      new RegExp(`registry\\.${'yarn' + 'pkg'}\\.`),
      new RegExp(`${'npm' + 'mirror'}\\.com`),
      new RegExp(`npm\\.${'pkg.' + 'github'}`),
      ...configuredRegistry(),
    ],
  },
  {
    why: 'an exclusive or skipped test',
    only: (path) => CODE.test(path),
    words: [
      new RegExp(`\\b(it|test|describe|suite)\\.${'on' + 'ly'}\\b`),
      new RegExp(`\\.${'sk' + 'ip'}\\(`),
    ],
  },
  {
    why: 'an unfinished note; finish the work, or open an issue',
    only: (path) => path.startsWith('src/'),
    words: [new RegExp(`\\b(${'TO' + 'DO'}|${'FIX' + 'ME'})\\b`)],
  },
  {
    why: 'an indefinite person; name the client, the caller, the user or the process instead',
    only: (path) => PROSE.test(path) && !TEST.test(path),
    // The user of that name is in quotes, or a value.
    words: [new RegExp(`(?<![\`'=])\\b(${'who' + 'ever'}|${'some' + 'body'}|${'no' + 'body'})\\b`, 'i')],
  },
  {
    why: 'a private word; use the one in VOCABULARY.md',
    only: (path) => /^(?:src|test|web|docs)\//.test(path),
    words: [
      new RegExp(
        `\\b(${'wal' + 'ls'}|${'fur' + 'nished'}|${'ret' + 'old'}|${'kno' + 'cks'}|${'men' + 'ds'})\\b`,
        'i',
      ),
    ],
  },
]

let found = 0
for (const path of committedFiles()) {
  const content = readFileSync(join(root, path))
  if (content.includes(0)) continue // not text
  const lines = content.toString('utf8').split('\n')
  for (const { why, words } of RULES.filter(({ only }) => !only || only(path))) {
    for (const [index, line] of lines.entries()) {
      const word = words.map((pattern) => pattern.exec(line)?.[0]).find(Boolean)
      if (!word) continue
      console.log(`${path}:${index + 1}: '${word}' is ${why}`)
      found++
    }
  }
}
process.exitCode = found === 0 ? 0 : 1

/** Tracked files and files that git would add; without git, everything except generated folders. */
function committedFiles() {
  try {
    const args = ['-c', 'safe.directory=*', 'ls-files', '-z', '--cached', '--others', '--exclude-standard']
    const options = { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 26 }
    const paths = execFileSync('git', args, options).split('\0')
    return paths.filter((path) => path && existsSync(join(root, path)))
  } catch {
    return filesUnder('.').filter((path) => !/^(node_modules|dist|coverage|\.git)\//.test(path))
  }
}

/** The path of this checkout, unless it is too short to be specific (`/app`). */
function checkoutPath() {
  return dirname(root) === dirname(dirname(root)) ? [] : [literally(root)]
}

/** The registry that npm is configured for, if a setting names one. */
function configuredRegistry() {
  const { npm_config_registry: registry } = process.env
  const host = registry && URL.canParse(registry) ? new URL(registry).hostname : ''
  return host.includes('.') && !/^[\d.]+$/.test(host) ? [literally(host)] : []
}

function literally(text) {
  return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
}
