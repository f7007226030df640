// node scripts/release.mjs VERSION [--dry-run]: gives the unreleased section of CHANGELOG.md this version and today's date,
// sets the version in the manifests, commits and tags. Pushing the tag publishes: .github/workflows/release.yml.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { staleResults } from './checked.mjs'
import { fail, root } from './lib.mjs'

const UNRELEASED = /^## (\S+), unreleased$/m
const VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/

const dryRun = process.argv.includes('--dry-run')
const [version] = process.argv.slice(2).filter((word) => word !== '--dry-run')
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
const read = (path) => readFileSync(join(root, path), 'utf8')

if (!VERSION.test(version ?? ''))
  fail('Usage: node scripts/release.mjs VERSION [--dry-run], such as 1.2.0', 2)
const changes = changelog()
if (git('tag', '--list', `v${version}`) !== '') fail(`The tag v${version} exists already`)
if (!dryRun && git('status', '--porcelain') !== '')
  fail('There are uncommitted changes; commit or stash them first')
const stale = staleResults()
if (!dryRun && stale.length > 0)
  fail(`Results of real agents, clients or servers are older than the code:\n${stale.join('\n')}`)
const files = { 'CHANGELOG.md': changes.text, ...manifests() }
console.log(`Version ${version}, tag v${version}\n\n${changes.section}`)
for (const line of stale) console.log(`\nTo do first: ${line}`)
if (dryRun) console.log('\nNothing was changed (--dry-run).')
else release()

function release() {
  for (const [path, text] of Object.entries(files)) writeFileSync(join(root, path), text)
  git('add', ...Object.keys(files))
  git('commit', '--quiet', '--message', `release: ${version}`)
  git('tag', '--annotate', `v${version}`, '--message', changes.section)
  console.log(`\nCommitted and tagged. Publish it with: git push --follow-tags`)
}

function changelog() {
  const before = read('CHANGELOG.md')
  if (!UNRELEASED.test(before)) fail('CHANGELOG.md has no heading of the form `## 1.2.0, unreleased`')
  const heading = `## ${version}, ${new Date().toISOString().slice(0, 'yyyy-mm-dd'.length)}`
  const text = before.replace(UNRELEASED, heading)
  const section = text
    .slice(text.indexOf(heading) + heading.length)
    .split(/^## /m)[0]
    .trim()
  if (section === '') fail('The unreleased section of CHANGELOG.md is empty')
  return { text, section }
}

/** The version occurs once in package.json and twice in the lock file, each time as the first of its kind. */
function manifests() {
  const set = (text) => text.replace(/"version": "[^"]*"/, `"version": "${version}"`)
  const lock = read('package-lock.json')
  const at = lock.indexOf('"packages"')
  return {
    'package.json': set(read('package.json')),
    'package-lock.json': set(lock.slice(0, at)) + set(lock.slice(at)),
  }
}
