import { execFile } from 'node:child_process'
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { outsideEnv } from '../../scripts/outside-env.mjs'
import { ownFolder } from '../support/folder.ts'
import { launchReady } from '../support/program.ts'

const run = promisify(execFile)
const PACK = fileURLToPath(new URL('../../scripts/pack.mjs', import.meta.url))
const MEGABYTE = 1e6

test('the package is below 1.6 MB, installs without development packages into less than 60 MB, and runs offline', async () => {
  const [target, prefix] = [ownFolder(), ownFolder()]
  await run(process.execPath, [PACK, target, '--sbom'])
  const [sbom = '', tarball = ''] = readdirSync(target).sort()
  const { components } = JSON.parse(readFileSync(join(target, sbom), 'utf8')) as {
    components: { name: string }[]
  }
  const names = components.map(({ name }) => name)
  expect(names).toEqual(
    expect.arrayContaining(['@photostructure/sqlite', 'fastify', 'react-dom', '@fastify/swagger-ui']),
  )
  expect(names).not.toContain('vitest')
  expect(lstatSync(join(target, tarball)).size).toBeLessThan(1.6 * MEGABYTE)

  const options = ['--omit=dev', '--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts']
  const install = ['install', '--global', '--prefix', prefix, ...options, join(target, tarball)]
  await run('npm', install, { env: outsideEnv() })
  const installed = join(prefix, 'lib/node_modules/toolroom')
  const files = readdirSync(installed, { recursive: true, withFileTypes: true }).filter((each) =>
    each.isFile(),
  )
  const bytes = files.reduce((sum, { parentPath, name }) => sum + lstatSync(join(parentPath, name)).size, 0)
  expect(bytes).toBeLessThan(60 * MEGABYTE)

  const own = readdirSync(installed).filter((name) => name !== 'node_modules')
  expect(own.sort()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'THIRD-PARTY-LICENSES.txt',
    'dist',
    'package.json',
  ])
  const dist = readdirSync(join(installed, 'dist'), { recursive: true }).map(String)
  expect(dist).toEqual(
    expect.arrayContaining(['main.js', 'store-worker.js', 'web/index.html', 'docs/guide/index.html']),
  )
  expect(dist.filter((name) => /\.(map|cache|ts)$|(^|\/)\./.test(name))).toEqual([])
  expect(readFileSync(join(installed, 'THIRD-PARTY-LICENSES.txt'), 'utf8')).toMatch(
    /fastify .*MIT[\s\S]*react-dom .*MIT/,
  )
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  expect(Object.keys(manifest)).not.toEqual(
    expect.arrayContaining(['devDependencies', 'scripts', 'workspaces']),
  )

  const program = join(prefix, 'bin/toolroom')
  expect((await run(program, ['--version'])).stdout).toBe(`${manifest.version}\n`)
  const { address } = await launchReady({ main: program })
  const pages = {
    '/': '<div id="root">',
    '/docs': 'swagger-ui',
    '/docs/assets/swagger-ui-bundle.js': 'SwaggerUIBundle',
    '/docs/guide': '<h1',
    '/docs/errors/disk_full': 'disk_full',
  }
  for (const [path, text] of Object.entries(pages)) {
    const page = await fetch(address + path)
    expect(page.status, path).toBe(200)
    expect(await page.text(), path).toContain(text)
  }
}, 300_000)
