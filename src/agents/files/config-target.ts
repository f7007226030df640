import { statSync } from 'node:fs'
import { AppError, invalidField } from '../../kernel/errors.ts'
import type { Agent } from '../catalogue/catalogue.schema.ts'
import { AGENTS, findAgent } from '../catalogue/catalogue.ts'
import { type Platform, placesOf } from '../catalogue/config-places.ts'
import { detect } from '../catalogue/detect.ts'
import type { How } from '../edit/edit.schema.ts'
import type { Where } from '../read/read-entries.ts'
import { nearestFolder } from './file-safety.ts'

export function agentOf(key: string): Agent {
  const agent = findAgent(key)
  if (agent) return agent
  const known = AGENTS.map(({ type }) => type).filter((type) => type.includes(key.toLowerCase().slice(0, 20)))
  throw new AppError('not_found', `No agent has the type '${key.slice(0, 100)}'`, {
    hint:
      known.length > 0
        ? `Did you mean ${known.slice(0, 3).join(' or ')}?`
        : 'GET /api/agents lists those that Toolroom knows',
  })
}

/** Every file of the agent; those of a project only with one. */
export function wheresOf(agent: Agent, platform: Platform, project: string | undefined): Where[] {
  if (project !== undefined) assertFolder(project)
  return placesOf(agent, platform, project).map((place) => ({ agent, place, platform, project }))
}

/** The one file that is meant. */
export function whereOf(agent: Agent, platform: Platform, { scope = 'user', project_path }: How): Where {
  const wheres = wheresOf(agent, platform, project_path)
  const where = wheres.find(({ place }) => place.scope === scope)
  if (where) return where
  if (project_path === undefined && agent.scopes.some((each) => each.scope === scope)) {
    const needsProject = placesOf(agent, platform, platform.home).some((place) => place.scope === scope)
    if (needsProject)
      throw invalidField('/project_path', `is needed for the scope '${scope}' of ${agent.name}`)
  }
  const scopes = wheres.map(({ place }) => place.scope)
  throw new AppError('not_supported', `${agent.name} has no scope '${scope}' here`, {
    hint: scopes.length > 0 ? `It has: ${scopes.join(', ')}` : 'It is not made for this operating system',
  })
}

/** Says no before anything is computed. */
export function assertMayChange(
  { agent, place, platform, project }: Where,
  create: boolean | undefined,
): void {
  if (place.readOnly)
    throw new AppError(
      'config_read_only',
      `${place.path} is managed by somebody else; ${agent.name} only reads it`,
      {
        hint: 'Choose the scope user or project',
      },
    )
  if (place.ambiguous.length > 0)
    throw new AppError(
      'config_unsafe',
      `Several files of ${agent.name} could be meant: ${place.ambiguous.join(', ')}`,
      {
        hint: 'Nothing was changed; remove the one that is not used',
      },
    )
  if (create || project !== undefined || platform.exists(place.path) || detect(agent, platform).installed)
    return
  if (nearestFolder(place.path) === place.path.replace(/[\\/][^\\/]*$/, '')) return
  throw new AppError(
    'agent_not_installed',
    `${agent.name} was not found on this computer, and ${place.path} cannot be made without its folder`,
    {
      hint: 'Install it first, or send "create": true',
    },
  )
}

function assertFolder(project: string): void {
  let isFolder = false
  try {
    isFolder = statSync(project).isDirectory()
  } catch {
    // not there
  }
  if (!isFolder) throw invalidField('/project_path', 'must be a folder that exists')
}
