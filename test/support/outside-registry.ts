import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { atEnd } from './lifetime.ts'
import { packed } from './registry/documents.ts'

/**
 * Everything that a dependency can name besides the registry: a git repository, a URL, a folder and a file. Each of them
 * contains programs that write into `traces` when npm runs them. `connections` counts requests to hosts other than the
 * registry: all https requests of npm are sent to this server, because it is their proxy.
 */
export async function openOutside(home: string) {
  const traces = join(home, 'traces')
  mkdirSync(traces)
  const leaveTrace = (name: string) => `node -e "require('fs').writeFileSync('${join(traces, name)}', '')"`
  const scripts = (name: string) => ({
    preinstall: leaveTrace(`${name}-preinstall`),
    prepare: leaveTrace(`${name}-prepare`),
  })
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`)
    response.end(packed({ name: 'dep', version: '1.0.0', manifest: { scripts: scripts('remote') } }))
  })
  server.on('connect', (request, socket) => {
    seen.push(`CONNECT ${request.url}`)
    socket.on('error', () => {}) // npm closes it first
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const folder = join(home, 'outside', 'folder')
  const manifest = { name: 'dep', version: '1.0.0' }
  write(folder, { 'package.json': JSON.stringify({ ...manifest, scripts: scripts('folder') }) })
  const file = join(home, 'outside', 'dep-1.0.0.tgz')
  writeFileSync(file, packed({ ...manifest, manifest: { scripts: scripts('file') } }))

  const program = join(home, 'outside', 'git-program')
  writeFileSync(program, `#!/bin/sh\n${leaveTrace('git-program')}\nexit 1\n`, { mode: 0o755 })
  const repository = join(home, 'outside', 'repository')
  write(repository, {
    '.npmrc': `git=${program}\n`,
    'package.json': JSON.stringify({
      ...manifest,
      scripts: scripts('repository'),
      optionalDependencies: { inner: `git+file://${repository}` },
    }),
  })
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', repository, '-c', 'user.name=x', '-c', 'user.email=x@x.example', ...args])
  git('init', '--quiet')
  git('add', '.')
  git('commit', '--quiet', '--message=x')

  return {
    connections: seen,
    ran: () => readdirSync(traces),
    env: { npm_config_https_proxy: url, npm_config_proxy: url, npm_config_noproxy: '127.0.0.1,localhost' },
    specs: {
      'a git repository': `git+file://${repository}`,
      'a commit of a code host': `github:acme/dep#${'0123456789'.repeat(4)}`,
      'a branch of a code host': 'acme/dep',
      'a URL': `${url}/dep.tgz`,
      'a secure URL': 'https://tools.example/dep.tgz',
      'a folder': `file:${folder}`,
      'a folder without a scheme': folder,
      'a file': `file:${file}`,
    },
    url,
    folder,
    repository,
  }
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  if (!existsSync(folder)) mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
}
