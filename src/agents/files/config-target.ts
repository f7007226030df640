import { statSync } from 'node:fs'
import { unknownName } from '../../kernel/did-you-mean.ts'
import { AppError, invalidField } from '../../kernel/errors.ts'
import type { ConfigFile, ConfigTarget } from '../catalogue/agent-catalogue.ts'
import {
  AGENTS,
  configFilesOf,
  detect,
  fileAt,
  findAgent,
  isScope,
  type Platform,
} from '../catalogue/agent-catalogue.ts'
import type { Agent } from '../catalogue/agent-record.ts'
import { isSame } from '../catalogue/json-value.ts'
import type { LockFacts } from './agent-lock.ts'
import type { FileRecord, OwnershipStore } from './ownership-store.ts'
import { type FileLocation, nearestFolder } from './read-config.ts'

/** A file, and the lock that its agent takes before it writes. */
export interface LockedFile extends FileLocation {
  readonly lock: LockFacts | null
}

export function agentOf(key: string): Agent {
  const agent = findAgent(key)
  if (agent) return agent
  const names = AGENTS.flatMap(({ type, aliases }) => [type, ...aliases])
  const otherwise = 'GET /api/agents lists the supported agents'
  throw unknownName(`No agent has the type '${key.slice(0, 100)}'`, key, names, otherwise)
}

/** Every configuration file of the agent. Files inside a project are included only if a project is given. */
export function configTargets(agent: Agent, platform: Platform, project: string | undefined): ConfigTarget[] {
  if (project !== undefined) assertFolder(project)
  return configFilesOf(agent, platform, project).map((config) => ({ agent, config, platform, project }))
}

/** The file of one scope. */
export function configTarget(
  agent: Agent,
  platform: Platform,
  { scope = 'user', project_path }: { readonly scope?: string; readonly project_path?: string },
): ConfigTarget {
  const targets = configTargets(agent, platform, project_path)
  const target = targets.find(({ config }) => isScope(config, scope))
  if (target) return target
  if (project_path === undefined && agent.scopes.some((each) => each.scope === scope)) {
    const needsProject = configFilesOf(agent, platform, platform.home).some(
      (config) => config.scope === scope,
    )
    if (needsProject) throw invalidField('/project_path', `is required for ${agent.name}'s scope '${scope}'`)
  }
  const scopes = targets.map(({ config }) => config.scope)
  throw new AppError('not_supported', `${agent.name} has no scope '${scope}' on this computer`, {
    hint: scopes.length > 0 ? `Use one of: ${scopes.join(', ')}` : 'It does not run on this operating system',
  })
}

/** The file of a record or an intent, as far as the agent still uses it. */
export function recordedTarget(
  platform: Platform,
  { agent_type, scope, project_path }: Pick<FileRecord, 'agent_type' | 'scope' | 'project_path'>,
): ConfigTarget {
  const project = project_path === null ? {} : { project_path }
  return configTarget(agentOf(agent_type), platform, { scope, ...project })
}

/** Throws for a file that must not be changed, before anything is computed. */
export function assertMayChange(
  { agent, config, platform, project }: ConfigTarget,
  create: boolean | undefined,
): void {
  if (config.readOnly)
    throw new AppError(
      'config_read_only',
      `${config.path} is managed by an administrator or another program, and ${agent.name} only reads it`,
      { hint: 'Use the scope user or project' },
    )
  if (config.ambiguous.length > 0)
    throw new AppError(
      'config_unsafe',
      `${agent.name} may use any of several files: ${config.ambiguous.join(', ')}`,
      { hint: 'Nothing was changed. Remove the files that are not used' },
    )
  if (create || project !== undefined || platform.exists(config.path) || detect(agent, platform).installed)
    return
  if (nearestFolder(config.path) === folderOf(config.path)) return
  throw new AppError(
    'agent_not_installed',
    `${agent.name} was not found on this computer, and the folder for ${config.path} does not exist`,
    { hint: 'Install the agent first, or send "create": true' },
  )
}

/** The home or the project folder. A symbolic link inside it must not lead out of it. */
export const rootOf = ({ config, platform, project }: ConfigTarget): string =>
  project !== undefined && config.path.startsWith(project) ? project : platform.home

export const fileOf = (target: ConfigTarget): FileLocation => ({
  path: target.config.path,
  root: rootOf(target),
})

/** One of the agent's files with the agent's own lock, which is held during a write. */
export const lockedFile = (target: ConfigTarget, path: string, ledger: string): LockedFile => ({
  path,
  root: rootOf(target),
  lock: lockOf(target, path, ledger),
})

/** The lock that the agent itself takes for this file, which may be that of another scope. */
function lockOf({ agent, platform, project }: ConfigTarget, path: string, ledger: string): LockFacts | null {
  const { lock } = agent
  const files = configFilesOf(agent, platform, project).filter((config) => config.path === path)
  if (!lock || !files.some((config) => lock.scopes.some((scope) => isScope(config, scope)))) return null
  const lockPath = lock.path.replace('<config>', path).replace('<folder>', folderOf(path))
  return { path: lockPath, kind: lock.kind, ledger }
}

/** The files that a change of this file may write: the file, and the one in which the agent lists disabled servers. */
export function pathsOf({ agent, config, platform, project }: ConfigTarget): string[] {
  const { disabled } = agent
  const other = 'paths' in disabled ? fileAt(disabled, platform, project)?.path : undefined
  return other === undefined ? [config.path] : [config.path, other]
}

/** Accepts both separators, because tests resolve Windows paths on other systems. */
const folderOf = (path: string): string => path.replace(/[\\/][^\\/]*$/, '')

function assertFolder(project: string): void {
  let isFolder = false
  try {
    isFolder = statSync(project).isDirectory()
  } catch {
    // it does not exist
  }
  if (!isFolder) throw invalidField('/project_path', 'must be an existing folder')
}

export function recordOf(
  store: Pick<OwnershipStore, 'all'>,
  { path, keyPath }: Pick<ConfigFile, 'path' | 'keyPath'>,
): FileRecord | undefined {
  return store.all().find((record) => record.path === path && isSame(record.key_path, keyPath))
}
