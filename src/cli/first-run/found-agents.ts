import { hanging } from '../run/columns.ts'
import { counted, shortPath, withoutFile } from '../run/human-readable.ts'
import { type Line, toned } from '../run/printed-line.ts'
import type { Api, Schemas } from '../run/service-client.ts'

export type Scan = Schemas['AgentScan']

/** What is on this computer. Changes nothing. */
export interface Found {
  readonly scan: Scan
  readonly lines: readonly Line[]
}

/**
 * Reads the files of all agents: `Found 4 agents with 11 server entries`, and a line for each of them. `isAll`: nothing else
 * follows, so that nothing was changed.
 */
export async function findAll(api: Api, width: number | undefined, isAll = true): Promise<Found> {
  const [scan, { items }] = await Promise.all([api.get('/api/agents/scan'), api.get('/api/agents')])
  const shown = scan.agents.filter(
    ({ installed, entries, problems }) => installed || entries > 0 || problems.length > 0,
  )
  const nameRoom = Math.max(0, ...shown.map(({ name }) => name.length))
  const paths = new Map(
    items.map(({ agent_type, scopes }) => [
      agent_type,
      shortPath((scopes.find(({ exists }) => exists) ?? scopes[0])?.path ?? ''),
    ]),
  )
  const room = Math.max(0, ...shown.map(({ agent_type }) => paths.get(agent_type)?.length ?? 0))
  return {
    scan,
    lines: [
      scan.entries === 0
        ? `No agent on this computer has a server yet.${isAll ? ' Nothing was changed.' : ''}`
        : `Found ${counted(scan.agents_found, 'agent')} with ${counted(scan.entries, 'server entry').replace(/entrys$/, 'entries')} (${counted(scan.different_servers, 'different server')}).${isAll ? ' Nothing was changed.' : ''}`,
      ...shown.flatMap(({ agent_type, name, entries, projects, problems: [problem] }): Line[] => {
        const place = `  ${name.padEnd(nameRoom)}  ${(paths.get(agent_type) ?? '').padEnd(room)}`
        const those = projects.map((each) => `${each.entries} of ${shortPath(each.project)}`).join(', ')
        const count = counted(entries, 'server') + (those === '' ? '' : `, ${those}`)
        if (problem === undefined) return [`${place}  ${count}`]
        return [place.trimEnd(), ...problemLines(problem, nameRoom, width)]
      }),
    ],
  }
}

/** Below the file, whose name it need not repeat. */
const problemLines = (problem: string, nameRoom: number, width: number | undefined): Line[] =>
  hanging(`${' '.repeat(nameRoom + 4)}! `, withoutFile(problem), width).map(
    (line): Line => [toned('warn', line)],
  )
