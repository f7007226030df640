import { createReadStream } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { AppError, CATALOGUE, type ErrorCode } from '../kernel/errors.ts'
import { ERROR_TEXTS, isErrorCode } from './error-texts.ts'
import { PAGE_HEADERS } from './security-headers.ts'

const HTML = 'text/html; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'

/** The Swagger UI files that are served. No other file in its package is. */
const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': SCRIPT,
  'favicon-32x32.png': 'image/png',
}

const PAGE = page(
  'Toolroom API',
  '<link rel="stylesheet" href="/docs/assets/swagger-ui.css">',
  '<div id="swagger-ui"></div><script src="/docs/assets/swagger-ui-bundle.js"></script><script src="/docs/assets/start.js"></script>',
)

/** No request leaves the origin: the validator badge is off and all files are local. Follows the system's dark mode. */
const START = `const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()
SwaggerUIBundle({
  url: '/docs/json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
  tryItOutEnabled: true,
})
`

/** Interactive documentation at `/docs`, and a page for every error code. Files are read on request. */
export function serveDocs(app: FastifyInstance, openapi: () => string): void {
  const hidden = { schema: { hide: true } }
  app.get('/docs', hidden, async (_, reply) => reply.headers(PAGE_HEADERS).type(HTML).send(PAGE))
  app.get('/docs/json', hidden, async (_, reply) => reply.type(JSON_TYPE).send(openapi()))
  app.get<{ Params: { file: string } }>('/docs/assets/:file', hidden, async (request, reply) => {
    const { file } = request.params
    if (file === 'start.js') return reply.type(SCRIPT).send(START)
    const type = Object.hasOwn(ASSETS, file) ? ASSETS[file] : undefined
    if (type === undefined) throw new AppError('not_found', `The file '${file.slice(0, 100)}' does not exist`)
    const caching = { 'cache-control': 'private, max-age=3600' }
    return reply
      .headers(caching)
      .type(type)
      .send(createReadStream(join(assetFolder(), file)))
  })
  app.get('/docs/errors', hidden, async (_, reply) =>
    reply.headers(PAGE_HEADERS).type(HTML).send(errorIndex()),
  )
  app.get<{ Params: { code: string } }>('/docs/errors/:code', hidden, async (request, reply) => {
    const { code } = request.params
    if (!isErrorCode(code))
      throw new AppError('not_found', `The error code '${code.slice(0, 100)}' does not exist`)
    return reply.headers(PAGE_HEADERS).type(HTML).send(errorPage(code))
  })
}

function assetFolder(): string {
  return join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui/package.json')), 'static')
}

function errorIndex(): string {
  const rows = Object.entries(CATALOGUE).map(
    ([code, { status, title }]) =>
      `<li><a href="/docs/errors/${code}">${code}</a> (${status}): ${title}</li>`,
  )
  return page('Errors', STYLE, `<main><h1>Errors</h1><ul>${rows.join('')}</ul></main>`)
}

function errorPage(code: ErrorCode): string {
  const { status, title } = CATALOGUE[code]
  const { happened, todo } = ERROR_TEXTS[code]
  const body = `<h1>${title}</h1><p>HTTP ${status}, code <code>${code}</code></p><h2>What happened</h2><p>${inline(happened)}</p>
<h2>What to do</h2><p>${inline(todo)}</p><p><a href="/docs/errors">All errors</a> · <a href="/docs">API</a></p>`
  return page(title, STYLE, `<main>${body}</main>`)
}

const STYLE =
  '<style>:root{color-scheme:light dark}body{font:16px/1.6 system-ui,sans-serif;margin:3rem auto;max-width:42rem;padding:0 1rem}code{font-size:.95em}</style>'

const inline = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replace(/`([^`]+)`/g, '<code>$1</code>')

function page(title: string, head: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><link rel="icon" href="/docs/assets/favicon-32x32.png">${head}</head><body>${body}</body></html>
`
}
