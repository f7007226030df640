import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { openTestService } from '../../../test/support/test-service.ts'
import { PAGES } from './serve-dashboard.ts'

const INDEX =
  '<!doctype html><meta name="csp-nonce" nonce="%NONCE%"><meta name="token-header" content="%HEADER%"><meta name="last-event" content="%EVENT%"><div id="root">'

function builtDashboard(): string {
  const folder = ownFolder()
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), INDEX)
  writeFileSync(join(folder, 'assets', 'index-1a2b3c.js'), 'run()')
  writeFileSync(join(folder, 'assets', 'notes.txt'), 'not an asset')
  return folder
}

test('every page of the dashboard is the same document, with a policy that allows only its own files and a new nonce (docs/dashboard.md)', async () => {
  const env = { AUTH_TOKEN_HEADER_NAME: 'X-Own&Token' }
  const { inject } = await openTestService({ webFolder: builtDashboard(), env })
  const nonces = new Set<string>()
  for (const path of PAGES.map((page) => `${page.replace(/:\w+/, 'any')}?tab=tools&q=a`)) {
    const { statusCode, headers, body } = await inject(path)
    expect(statusCode, path).toBe(200)
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(headers['cache-control']).toBe('no-store')
    const nonce = /nonce="([^"]+)"/.exec(body)?.[1] ?? ''
    expect(headers['content-security-policy']).toBe(
      `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data: blob:; media-src data: blob:; connect-src 'self'; font-src 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
    )
    expect(body).toContain('content="X-Own&amp;Token"')
    expect(body).toMatch(/name="last-event" content="\d{16}"/)
    nonces.add(nonce)
  }
  expect(nonces.size).toBe(PAGES.length)
})

test('assets have hashed names, so browsers keep them for good; no other file of the folder can be read', async () => {
  const { inject } = await openTestService({ webFolder: builtDashboard() })
  const { headers, body } = await inject('/assets/index-1a2b3c.js')
  expect(body).toBe('run()')
  expect(headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'private, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
  })
  const others = ['missing.js', 'notes.txt', '..%2findex.html', '..%2f..%2fpackage.json', '.js']
  for (const file of others) {
    const { statusCode } = await inject(`/assets/${file}`)
    expect(statusCode, file).toBe(404)
  }
})

test('a path that is no page stays unknown, and the pages are public although reads are protected', async () => {
  const { inject } = await openTestService({ webFolder: builtDashboard(), env: { PROTECT_READS: 'true' } })
  const statusOf = async (path: string) => (await inject(path)).statusCode
  for (const path of ['/api/nowhere', '/nowhere', '/servers/a/b', '/assets', '/mcp/x/y'])
    expect(await statusOf(path), path).toBe(404)
  expect(await statusOf('/servers')).toBe(200)
  expect(await statusOf('/assets/index-1a2b3c.js')).toBe(200)
  expect(await statusOf('/api/servers')).toBe(401)
})
