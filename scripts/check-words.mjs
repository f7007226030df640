// Words that must not be committed. They are written in two halves here, or this file would find itself.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { filesUnder, root } from './lib.mjs'

const CODE = /\.(ts|tsx|js|mjs|cjs)$/
const RULES = [
  {
    why: 'a path of one machine',
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
    why: 'a test that leaves others out',
    only: (path) => CODE.test(path),
    words: [
      new RegExp(`\\b(it|test|describe|suite)\\.${'on' + 'ly'}\\b`),
      new RegExp(`\\.${'sk' + 'ip'}\\(`),
    ],
  },
  {
    why: 'an unfinished thought; finish it, or write an issue',
    only: (path) => path.startsWith('src/'),
    words: [new RegExp(`\\b(${'TO' + 'DO'}|${'FIX' + 'ME'})\\b`)],
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

/** What git knows, and what it would add; without git, everything but what is made here. */
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

/** This very checkout, unless its path is so short that it may mean anything (`/app`). */
function checkoutPath() {
  return dirname(root) === dirname(dirname(root)) ? [] : [literally(root)]
}

/** The registry that npm uses here, when it is told by a setting. */
function configuredRegistry() {
  const { npm_config_registry: registry } = process.env
  const host = registry && URL.canParse(registry) ? new URL(registry).hostname : ''
  return host.includes('.') && !/^[\d.]+$/.test(host) ? [literally(host)] : []
}

function literally(text) {
  return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
}
