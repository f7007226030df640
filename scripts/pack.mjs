// npm run pack: writes the npm package into release/, or into the folder that is given. It contains exactly the files of the
// last build, a manifest without what only developers need, and the licences of the packages whose code is in it. With --sbom,
// a software bill of materials is written beside it.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fail, root, run } from './lib.mjs'
import { thirdPartyLicences } from './licences.mjs'
import { findNpm, prepare, readBuilt } from './prepare.mjs'
import { billOfMaterials } from './sbom.mjs'

const FIELDS = [
  'name',
  'version',
  'description',
  'keywords',
  'license',
  'type',
  'engines',
  'bin',
  'files',
  'dependencies',
  'optionalDependencies',
]
const COPIED = ['README.md', 'LICENSE', 'CHANGELOG.md']

await prepare()
const [folder] = process.argv.slice(2).filter((word) => word !== '--sbom')
const target = resolve(folder ?? join(root, 'release'))
const stage = mkdtempSync(join(tmpdir(), 'toolroom-pack-'))
process.once('exit', () => rmSync(stage, { recursive: true, force: true }))
fill()
mkdirSync(target, { recursive: true })
const [npm, ...before] = findNpm() ?? fail('Cannot pack: npm was not found')
const args = ['pack', stage, '--json', '--pack-destination', target, '--ignore-scripts']
const { code, output } = await run(npm, [...before, ...args], { quiet: true })
if (code !== 0) fail(output)
const [{ filename, size, unpackedSize, files }] = JSON.parse(output.slice(output.indexOf('[')))
if (process.argv.includes('--sbom'))
  writeFileSync(join(target, filename.replace(/\.tgz$/, '.cdx.json')), await billOfMaterials())
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`
console.log(
  `${join(target, filename)}: ${files.length} files, ${megabytes(size)}, unpacked ${megabytes(unpackedSize)}`,
)

function fill() {
  const write = (name, text) => writeFileSync(join(stage, name), text)
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const own = Object.fromEntries(
    FIELDS.filter((name) => name in manifest).map((name) => [name, manifest[name]]),
  )
  write('package.json', `${JSON.stringify({ ...own, ...repository() }, null, 2)}\n`)
  write('THIRD-PARTY-LICENSES.txt', thirdPartyLicences())
  for (const name of COPIED) cpSync(join(root, name), join(stage, name))
  for (const file of readBuilt().files.filter((name) => !name.endsWith('.map'))) {
    mkdirSync(dirname(join(stage, 'dist', file)), { recursive: true })
    cpSync(join(root, 'dist', file), join(stage, 'dist', file))
  }
}

/** Provenance requires the repository that the workflow runs in. */
function repository() {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = process.env
  return server && name ? { repository: { type: 'git', url: `git+${server}/${name}.git` } } : {}
}
