/** Open to everybody even when reads are protected: what monitors ask, and pages that hold no data. */
const ALWAYS_OPEN = [
  'GET /',
  'GET /api/health',
  'GET /docs',
  'GET /docs/json',
  'GET /docs/assets/:file',
  'GET /docs/errors',
  'GET /docs/errors/:code',
]

/** The reads of the specification. They are redacted, and closed by PROTECT_READS. */
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
  'GET /api/logs',
  'GET /api/logs/download',
]

/** Every route that is not named here needs the token, and so does every look into a project. */
export function isPublic(method: string, route: string, url: string, protectReads: boolean): boolean {
  if (asksForProject(url)) return false
  const name = `${method === 'HEAD' ? 'GET' : method} ${route}`
  return ALWAYS_OPEN.includes(name) || (!protectReads && OPEN_READS.includes(name))
}

/** Any folder of this computer can be named by it. Parsed as the route will parse it: the name may be escaped. */
function asksForProject(url: string): boolean {
  const at = url.indexOf('?')
  return at !== -1 && new URLSearchParams(url.slice(at)).has('project_path')
}
