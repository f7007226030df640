import { PAGES } from './serve-dashboard.ts'

/** Public even with PROTECT_READS: the health check, pages without data, and pages that only their own link opens. */
const ALWAYS_OPEN = [
  ...PAGES.map((path) => `GET ${path}`),
  'GET /assets/:file',
  'GET /api/health',
  'POST /api/login',
  'GET /docs',
  'GET /docs/json',
  'GET /docs/assets/:file',
  'GET /docs/assets/docs.css',
  'GET /docs/guide',
  'GET /docs/guide/:page',
  'GET /docs/errors',
  'GET /docs/errors/:code',
  'GET /app-frames/:id',
  'GET /oauth/callback',
  'GET /oauth/callback/:issuer',
  'GET /oauth/done',
  'GET /oauth/start/:ticket',
  'POST /oauth/start/:ticket',
]

/** The reads that the specification makes public. Responses are redacted. PROTECT_READS protects them. */
const OPEN_READS = [
  'GET /api/servers',
  'GET /api/servers/:id',
  'GET /api/servers/:id/tools',
  'GET /api/http-servers',
  'GET /api/http-servers/:id',
  'GET /api/http-servers/:id/tools',
  'GET /api/http-servers/:id/metrics',
  'GET /api/agents',
  'GET /api/agents/:agent_type',
  'GET /api/agents/:agent_type/http-servers',
  'GET /api/notices',
  'GET /api/packages',
  'GET /api/packages/:id',
  'GET /api/packages/:scope/:name',
  'POST /api/packages/search',
  'GET /api/ws/metrics',
  'GET /api/metrics/summary',
  'GET /api/metrics/timeseries',
  'GET /api/metrics/servers/:id',
  'GET /api/metrics/tools',
  'GET /api/metrics/agents',
  'GET /api/metrics/prometheus',
  'GET /api/calls',
  'GET /api/logs',
  'GET /api/logs/download',
  'GET /api/logs/histogram',
]

/**
 * All other routes require the token, and so does every request with a `project_path`, which can name any folder of this
 * computer. `query` is what the route itself reads: a second parser could read the URL differently.
 */
export function isPublic(method: string, route: string, query: object, protectReads: boolean): boolean {
  if (Object.hasOwn(query, 'project_path')) return false
  const isCallSearch = route === '/api/calls' && Object.hasOwn(query, 'search') // it can find out what an error message says
  if (isCallSearch) return false
  const name = `${method === 'HEAD' ? 'GET' : method} ${route}`
  return ALWAYS_OPEN.includes(name) || (!protectReads && OPEN_READS.includes(name))
}
