import { isAbsolute } from 'node:path'
import type { ConfigTarget } from '../catalogue/agent-catalogue.ts'
import { AGENTS, type Platform } from '../catalogue/agent-catalogue.ts'
import type { Agent } from '../catalogue/agent-record.ts'
import { isMap, valueAt } from '../catalogue/json-value.ts'
import { configTargets } from '../files/config-target.ts'
import { type FileState, readFileState } from './read-entries.ts'

/** All files of one agent. */
export interface AgentFiles {
  readonly agent: Agent
  readonly installed: boolean
  readonly files: readonly { readonly state: FileState; readonly project: string | null }[]
}

/** Agents whose user file has a map `projects` with the folders in which they were used. */
const LISTING: readonly string[] = ['claude-code', 'codex']
const MAX_PROJECTS = 200

/** The folders of projects that agents list, as far as they exist. */
export function knownProjects(platform: Platform): string[] {
  const folders = AGENTS.filter(({ type }) => LISTING.includes(type))
    .flatMap((agent) => configTargets(agent, platform, undefined))
    .filter(({ config }) => config.scope === 'user')
    .flatMap((target) => {
      const projects = valueAt(readFileState(target).root, ['projects'])
      return isMap(projects) ? Object.keys(projects) : []
    })
  return [...new Set(folders)]
    .filter((folder) => isAbsolute(folder) && folder !== platform.home && platform.exists(folder))
    .slice(0, MAX_PROJECTS)
}

/** The files of an agent: the user's, and those in these projects. */
export function targetsIn(agent: Agent, platform: Platform, projects: readonly string[]): ConfigTarget[] {
  const keyOf = ({ config }: ConfigTarget) => JSON.stringify([config.path, config.keyPath])
  const ofUser = configTargets(agent, platform, undefined)
  const known = new Set(ofUser.map(keyOf))
  const inProjects = [...new Set(projects)].flatMap((project) => projectTargets(agent, platform, project))
  return [...ofUser, ...inProjects.filter((target) => !known.has(keyOf(target)))]
}

/** A project may have been deleted, or be a file by now. */
function projectTargets(agent: Agent, platform: Platform, project: string): ConfigTarget[] {
  try {
    return configTargets(agent, platform, project)
  } catch {
    return []
  }
}
