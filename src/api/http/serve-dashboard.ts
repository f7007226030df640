import { randomBytes } from 'node:crypto'
import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { AppError } from '../../kernel/errors.ts'
import { dashboardPolicy } from './security-headers.ts'

/** The pages of the dashboard. Each of them is the same document, which reads the address itself. */
export const PAGES = [
  '/',
  '/welcome',
  '/servers',
  '/servers/:id',
  '/agents',
  '/agents/:agent_type',
  '/playground',
  '/traffic',
  '/logs',
  '/packages',
  '/settings',
] as const

const HTML = 'text/html; charset=utf-8'
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.woff2': 'font/woff2',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}
/** The name of an asset contains a hash of its content, so it never changes. */
const IMMUTABLE = { 'cache-control': 'private, max-age=31536000, immutable' }
/** Filters, tabs and ranges: the page reads them. */
const ANY = { type: 'object', additionalProperties: true }
const ASSET = /^[\w.-]{1,200}$/

export interface WebOptions {
  /** The folder with the built dashboard; undefined if there is none. */
  readonly webFolder?: string | undefined
  /** How a command line of this installation begins. */
  readonly programName?: string
  /** The header that carries the token. The page must send the same. */
  readonly headerName: string
}

/**
 * The dashboard at `/`. Without a build, `/` leads to the documentation and the other pages do not exist. `lastEvent` is the
 * number of the newest event of the live stream.
 */
export function serveDashboard(
  app: FastifyInstance,
  { webFolder, headerName, programName = 'toolroom' }: WebOptions,
  lastEvent: () => number,
): void {
  const hidden = { schema: { hide: true } }
  const page = { schema: { hide: true, querystring: ANY } }
  const index = join(webFolder ?? '', 'index.html')
  if (webFolder === undefined || !existsSync(index)) {
    app.get('/', hidden, async (_, reply) => reply.redirect('/docs'))
    return
  }
  for (const path of PAGES)
    app.get(path, page, async (_, reply) => {
      const nonce = randomBytes(16).toString('base64')
      const text = readFileSync(index, 'utf8')
        .replaceAll('%NONCE%', nonce)
        .replace('%HEADER%', () => attribute(headerName))
        .replace('%PROGRAM%', () => attribute(programName))
        .replace('%EVENT%', String(lastEvent()))
      return reply.header('content-security-policy', dashboardPolicy(nonce)).type(HTML).send(text)
    })
  app.get<{ Params: { file: string } }>('/assets/:file', hidden, async ({ params: { file } }, reply) => {
    const type = TYPES[extname(file)]
    const path = join(webFolder, 'assets', file)
    if (type === undefined || !ASSET.test(file) || !existsSync(path))
      throw new AppError('not_found', `The file '${file.slice(0, 100)}' does not exist`)
    return reply.headers(IMMUTABLE).type(type).send(createReadStream(path))
  })
}

const attribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
