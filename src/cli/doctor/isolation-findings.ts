import type { Api, Schemas } from '../run/service-client.ts'
import { type Finding, hint, ok, problem } from './finding.ts'

type Abilities = Schemas['IsolationAbilities']
type Ability = Abilities['sandbox'] | Abilities['container']

const PROGRAMS: Readonly<Record<string, string>> = { docker: 'Docker', podman: 'Podman' }

/** Where servers can run here. Without the service, which servers need it is not known. */
export async function isolationFindings(api: Api, isRunning: boolean): Promise<Finding[]> {
  const [abilities, { items }] = await Promise.all([api.get('/api/isolation'), api.get('/api/servers')])
  const findingOf = (kind: 'sandbox' | 'container', label: string): Finding => {
    const ability = abilities[kind]
    if (ability.available) return ok(`${label}${programOf(ability)}`)
    const needed = items.filter(({ isolation }) => isolation === kind).map(({ id }) => id)
    const missing = `${label}: ${ability.problem ?? 'does not work'}`
    const remedy = ability.remedy === null ? '' : `. ${ability.remedy}`
    if (needed.length > 0) return problem(`${missing} (needed by ${needed.join(', ')})${remedy}`)
    if (abilities.default === kind)
      return hint(`${missing} (needed by new servers: default_isolation)${remedy}`)
    return { level: 'none', text: `${missing}${isRunning ? ' (not needed)' : ''}` }
  }
  return [findingOf('sandbox', 'sandbox'), findingOf('container', 'containers')]
}

/** ` (bubblewrap 0.8.0)` */
function programOf({ by, version }: Ability): string {
  const words = [by === null ? null : (PROGRAMS[by] ?? by), version].filter((word) => word !== null)
  return words.length === 0 ? '' : ` (${words.join(' ')})`
}
