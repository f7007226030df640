import { createReadStream } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { AppError } from '../../kernel/errors.ts'
import { page } from './doc-pages.ts'
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

/** Interactive documentation at `/docs`. Files are read on request. */
export function serveSwaggerUi(app: FastifyInstance, openapi: () => string): void {
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
}

function assetFolder(): string {
  return join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui/package.json')), 'static')
}
