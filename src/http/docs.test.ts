import { describe, expect, test } from 'vitest'
import { covers } from '../../test/support/covers.ts'
import { openHouse } from '../../test/support/house.ts'
import { CATALOGUE, type ErrorCode } from '../kernel/errors.ts'
import { ERROR_TEXTS } from './error-texts.ts'

interface Operation {
  readonly summary?: string
  readonly tags?: string[]
  readonly operationId?: string
  readonly security?: Record<string, string[]>[]
  readonly requestBody?: { content: Record<string, Record<string, unknown>> }
  readonly responses: Record<
    string,
    { description: string; content?: Record<string, Record<string, unknown>> }
  >
}

async function openapi(env: Record<string, string> = {}) {
  const house = await openHouse({ env })
  const document = (await house.inject('/docs/json')).json()
  const operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        name: `${method.toUpperCase()} ${path}`,
        ...operation,
      })),
  )
  return { house, document, operations }
}

describe('OpenAPI', () => {
  test('the OpenAPI document is 3.1 and describes every route with summary, tag and examples', async () => {
    covers('open-payloads', 'does-rest')
    const { house, document, operations } = await openapi()
    const routes = house.app.methods
      .list()
      .filter(({ method, url }) => method !== 'HEAD' && url.startsWith('/api/'))
      .map(({ method, url }) => `${method} ${url.replace(/:(\w+)/g, '{$1}')}`)

    expect(document.openapi).toBe('3.1.0')
    expect(operations.map(({ name }) => name).sort()).toEqual(routes.sort())
    for (const { name, summary, tags, operationId, requestBody, responses } of operations) {
      expect(summary && tags?.length && operationId, name).toBeTruthy()
      expect(!requestBody || hasExample(requestBody.content['application/json'] ?? {}), name).toBe(true)
      for (const [status, { content }] of Object.entries(responses)) {
        const answers = Object.values(content ?? {})
        expect(
          answers.every((answer) => hasExample(answer)),
          `${name} ${status}`,
        ).toBe(true)
      }
    }
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
  })

  test('the OpenAPI document marks protected routes and names the configured token header', async () => {
    covers('auth-2-header-name', 'auth-5-renamed-header')
    const { document, operations } = await openapi({ AUTH_TOKEN_HEADER_NAME: 'X-My-Key' })
    expect(document.components.securitySchemes.token).toMatchObject({
      type: 'apiKey',
      in: 'header',
      name: 'X-My-Key',
    })
    const open = operations.filter(({ security }) => security?.length === 0).map(({ name }) => name)
    expect(open.sort()).toEqual([
      'GET /api/agents',
      'GET /api/agents/{agent_type}',
      'GET /api/agents/{agent_type}/http-servers',
      'GET /api/health',
      'GET /api/http-servers',
      'GET /api/http-servers/{id}',
      'GET /api/http-servers/{id}/metrics',
      'GET /api/http-servers/{id}/tools',
      'GET /api/logs',
      'GET /api/logs/download',
      'GET /api/metrics/agents',
      'GET /api/metrics/prometheus',
      'GET /api/metrics/servers/{id}',
      'GET /api/metrics/summary',
      'GET /api/metrics/timeseries',
      'GET /api/metrics/tools',
      'GET /api/packages',
      'GET /api/packages/{id}',
      'GET /api/packages/{scope}/{name}',
      'GET /api/servers',
      'GET /api/servers/{id}',
      'GET /api/servers/{id}/tools',
      'GET /api/ws/metrics',
      'POST /api/packages/search',
    ])
    for (const { name, security, responses } of operations) {
      if (security?.length) expect(responses, name).toHaveProperty('401')
    }
  })
})

function hasExample(answer: Record<string, unknown>): boolean {
  const schema = answer.schema as { examples?: unknown[]; type?: string } | undefined
  return (
    answer.example !== undefined ||
    answer.examples !== undefined ||
    schema?.examples !== undefined ||
    schema?.type === 'string' ||
    schema?.type === 'null'
  )
}

describe('error pages', () => {
  test('docs/errors.md explains every code of the catalogue and no other', async () => {
    covers('open-error-codes')
    await expect(errorsMarkdown()).toMatchFileSnapshot('../../docs/errors.md')
  })

  test('the service has a page for the type of every problem', async () => {
    const house = await openHouse()
    for (const code of Object.keys(CATALOGUE)) {
      const page = await house.inject(`/docs/errors/${code}`)
      expect(page.statusCode, code).toBe(200)
      expect(page.headers['content-type']).toContain('text/html')
      expect(page.body).toContain(`<code>${code}</code>`)
    }
    expect((await house.inject('/docs/errors/nope')).statusCode).toBe(404)
    expect((await house.inject('/docs/errors/')).body).toContain('/docs/errors/disk_full')
  })
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
  const house = await openHouse()
  expect(await house.inject('/')).toMatchObject({ statusCode: 302, headers: { location: '/docs' } })
})

test('only the files that the documentation needs are served', async () => {
  const house = await openHouse()
  for (const file of [
    'package.json',
    'index.html',
    '..%2fpackage.json',
    '..%2f..%2fpackage.json',
    'swagger-ui.js',
  ]) {
    expect((await house.inject(`/docs/assets/${file}`)).statusCode, file).toBe(404)
  }
})
