import { isAbsolute, join } from 'node:path'
import type { ConfigTarget } from '../catalogue/agent-catalogue.ts'
import { AGENTS, type Platform } from '../catalogue/agent-catalogue.ts'
import type { Agent } from '../catalogue/agent-record.ts'
import { isList, isMap, type Json, valueAt } from '../catalogue/json-value.ts'
import { configTargets } from '../files/config-target.ts'
import { type FileLocation, readConfig } from '../files/read-config.ts'
import { formatOf, readText } from '../formats/apply-operations.ts'
import { type FileState, readFileState } from './read-entries.ts'

/** All files of one agent. */
export interface AgentFiles {
  readonly agent: Agent
  readonly installed: boolean
  readonly files: readonly {
    readonly state: FileState
    readonly project: string | null
    /** The servers of a repository that the user has let the agent start; null for a file that needs no approval. */
    readonly approved: Approved | null
  }[]
}

type Approved = 'all' | readonly string[]

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

/**
 * What the user has approved of a project's `.mcp.json`: Claude Code starts no other server of it. The settings that
 * belong to the repository itself approve nothing.
 */
export function approvedIn({ agent, config, platform, project }: ConfigTarget): Approved | null {
  if (agent.type !== 'claude-code' || config.scope !== 'project' || project === undefined) return null
  const [user] = configTargets(agent, platform, undefined).filter((each) => each.config.scope === 'user')
  const ofProject = user && valueAt(readFileState(user).root, ['projects', project])
  const isTrusted = valueAt(ofProject, ['hasTrustDialogAccepted']) === true
  // A repository may contain its local settings, too. Claude Code reads them in a folder that the user trusts.
  const local = { path: join(project, '.claude', 'settings.local.json'), root: project }
  const ofUser = { path: join(platform.home, '.claude', 'settings.json'), root: platform.home }
  const all = [settingsIn(ofUser), isTrusted ? settingsIn(local) : undefined, ofProject]
  if (all.some((each) => valueAt(each, ['enableAllProjectMcpServers']) === true)) return 'all'
  return all.flatMap((each) => {
    const names = valueAt(each, ['enabledMcpjsonServers'])
    return isList(names) ? names.map(String) : []
  })
}

/** Undefined if the file cannot be read. */
function settingsIn(file: FileLocation): Json | undefined {
  try {
    const content = readConfig(file)
    return content && readText(formatOf('json', PLAIN_JSON), file.path, content.text)
  } catch {
    return undefined
  }
}

const PLAIN_JSON = { comments: false, trailingCommas: false, bom: true }

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
