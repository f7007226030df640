import { Failure } from '../run/failure.ts'
import type { Api } from '../run/service-client.ts'
import { bytes } from '../run/units.ts'
import { type Finding, hint, ok, problem } from './finding.ts'

/** Whether the npm registry answers, and whether it can be searched. */
export async function registryFindings(api: Api): Promise<Finding[]> {
  try {
    const { search_available } = await api.post('/api/packages/search', { body: { query: 'mcp', size: 1 } })
    return [ANSWERS, search_available ? ok('offers search') : NO_SEARCH]
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (error.code === 'search_unavailable') return [ANSWERS, NO_SEARCH]
    return [problem(error.message)]
  }
}

const ANSWERS = ok('npm registry answers')
const NO_SEARCH = hint('It offers no search: packages are found by their exact name')

/** Processes of tool servers whose agent has ended. */
export async function processFindings(api: Api): Promise<Finding[]> {
  const { items } = await api.get('/api/processes/orphans')
  if (items.length === 0) return [ok('no leaked processes')]
  const memory = bytes(items.reduce((sum, { rss_bytes }) => sum + rss_bytes, 0))
  const [noun, verb] = items.length === 1 ? ['process has', 'its'] : ['processes have', 'their']
  return [hint(`${items.length} tool-server ${noun} lost ${verb} agent (${memory})`, 'toolroom orphans')]
}
