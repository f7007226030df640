import type { Agent } from './agent-record.ts'
import data from './agents.json' with { type: 'json' }
import { glob, type Platform, pathsOf, resolve, variable } from './config-files.ts'

/** Every supported agent. TypeScript cannot check the JSON against the schema; a test does. */
export const AGENTS: readonly Agent[] = data as unknown as readonly Agent[]

const byName = new Map(AGENTS.flatMap((agent) => [agent.type, ...agent.aliases].map((name) => [name, agent])))

/** `windsurf` finds Devin Desktop, its new name. */
export function findAgent(typeOrAlias: string): Agent | undefined {
  return byName.get(typeOrAlias.toLowerCase())
}

export interface Detected {
  readonly installed: boolean
  /** The path of the program, app, file or folder that was found. A folder alone may be a leftover. */
  readonly by: string | null
}

/** Searches for a program on the PATH, then an app, a file, a folder: the most reliable sign first. */
export function detect(agent: Agent, platform: Platform): Detected {
  const { binaries, apps, files, folders } = agent.detect
  const by =
    binaries.map((name) => onPath(name, platform)).find((path) => path !== undefined) ??
    [...(platform.os === 'darwin' ? apps : []), ...files, ...folders]
      .map((template) => existing(template, platform))
      .find((path) => path !== undefined)
  return { installed: by !== undefined, by: by ?? null }
}

function onPath(name: string, platform: Platform): string | undefined {
  const { delimiter, join, isAbsolute } = pathsOf(platform)
  const names = platform.os === 'win32' ? [`${name}.exe`, `${name}.cmd`] : [name]
  return (variable(platform, 'PATH') ?? '')
    .split(delimiter)
    .map((folder) => folder.replace(/^"(.*)"$/, '$1')) // Windows allows quotes around a folder
    .filter((folder) => isAbsolute(folder))
    .flatMap((folder) => names.map((file) => join(folder, file)))
    .find((path) => platform.exists(path))
}

function existing(template: string, platform: Platform): string | undefined {
  const path = resolve(template, platform)
  if (path === undefined) return undefined
  return glob(path, platform).find((match) => platform.exists(match))
}
