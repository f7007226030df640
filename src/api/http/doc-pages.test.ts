import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { covers } from '../../../test/support/covers.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { openTestService } from '../../../test/support/test-service.ts'
import { CATALOGUE, type ErrorCode } from '../../kernel/error-catalogue.ts'
import { ERROR_TEXTS } from './error-texts.ts'

describe('error pages', () => {
  test('docs/errors.md explains every code of the catalogue and no other', async () => {
    covers('open-error-codes')
    await expect(errorsMarkdown()).toMatchFileSnapshot('../../../docs/errors.md')
  })

  test('the service has a page for the type of every problem', async () => {
    const service = await openTestService()
    for (const code of Object.keys(CATALOGUE)) {
      const page = await service.inject(`/docs/errors/${code}`)
      expect(page.statusCode, code).toBe(200)
      expect(page.headers['content-type']).toContain('text/html')
      expect(page.body).toContain(`<code>${code}</code>`)
    }
    expect((await service.inject('/docs/errors/nope')).statusCode).toBe(404)
    expect((await service.inject('/docs/errors/')).body).toContain('/docs/errors/disk_full')
  })
})

test('the guide is served from the build, with no script, and only its own pages', async () => {
  const docsFolder = ownFolder()
  mkdirSync(join(docsFolder, 'guide'))
  writeFileSync(join(docsFolder, 'secret.html'), 'secret')
  writeFileSync(join(docsFolder, 'guide/index.html'), '<h1 id="guide">Guide</h1>')
  writeFileSync(join(docsFolder, 'guide/at-login.html'), '<h1 id="run">Run <code>it</code></h1>')
  const { inject } = await openTestService({ docsFolder, env: { PROTECT_READS: 'true' } })
  const page = await inject('/docs/guide/at-login')
  expect(page.statusCode).toBe(200)
  expect(page.body).toContain('<title>Run it · Toolroom</title>')
  expect(page.headers['content-security-policy']).toContain("default-src 'none'")
  expect(page.headers['content-security-policy']).not.toMatch(/script-src|unsafe/)
  expect((await inject('/docs/guide')).body).toContain('<h1 id="guide">Guide</h1>')
  expect((await inject('/docs/assets/docs.css')).headers['content-type']).toContain('text/css')
  for (const name of ['nope', '..%2fsecret', 'At-Login', 'a'.repeat(100)])
    expect((await inject(`/docs/guide/${name}`)).statusCode, name).toBe(404)
})

/** The text of docs/errors.md. */
function errorsMarkdown(): string {
  const intro = [
    '# Errors',
    '',
    'Every error is `application/problem+json` (RFC 9457) with a stable `code`. The service shows each page below at',
    '`/docs/errors/<code>`, which is also the `type` of the problem.',
  ]
  const sections = Object.entries(CATALOGUE).flatMap(([code, { status, title }]) => {
    const { happened, todo } = ERROR_TEXTS[code as ErrorCode]
    return ['', `## ${code}`, '', `**${status} ${title}.** ${happened}`, '', `What to do: ${todo}`]
  })
  return `${[...intro, ...sections].join('\n')}\n`
}

test('the root path redirects to the documentation', async () => {
  const service = await openTestService()
  expect(await service.inject('/')).toMatchObject({ statusCode: 302, headers: { location: '/docs' } })
})

test('only the files that the documentation needs are served', async () => {
  const service = await openTestService()
  for (const file of [
    'package.json',
    'index.html',
    '..%2fpackage.json',
    '..%2f..%2fpackage.json',
    'swagger-ui.js',
  ]) {
    expect((await service.inject(`/docs/assets/${file}`)).statusCode, file).toBe(404)
  }
})
