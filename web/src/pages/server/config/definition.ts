import { type Confinement, type IsolationOptions, NO_GRANTS } from '../../../data/server/isolation.ts'
import type { Server } from '../../../data/servers.ts'
import type { Definition } from './changes.ts'

const LOCAL = [
  'name',
  'command',
  'args',
  'env',
  'cwd',
  'description',
  'tags',
  'start_mode',
  'idle_timeout_s',
  'sharing',
  'max_instances',
  'restart',
  'isolation',
  'isolation_options',
  'timeouts',
  'tools',
  'expose',
] as const
const REMOTE = [
  'name',
  'url',
  'transport',
  'headers',
  'tags',
  'enabled',
  'timeouts',
  'oauth',
  'tools',
  'expose',
] as const

export function definitionOf(server: Server): Definition {
  const fields: readonly string[] = server.type === 'stdio' ? LOCAL : REMOTE
  return Object.fromEntries(Object.entries(server).filter(([field]) => fields.includes(field)))
}

/** The isolation of a definition. Its JSON may have been edited to something else. */
export function confinementIn({ isolation, isolation_options: given }: Definition): Confinement {
  const options = { ...NO_GRANTS, ...(given as Partial<IsolationOptions> | null) }
  const { write, read } = options
  return {
    isolation: isolation === 'sandbox' || isolation === 'container' ? isolation : 'none',
    isolation_options: { ...options, write: pathsIn(write), read: pathsIn(read) },
  }
}

const pathsIn = (paths: unknown): string[] =>
  Array.isArray(paths) ? paths.filter((path) => typeof path === 'string') : []

/** A text as a definition, or why it is none. */
export function parseDefinition(text: string): Definition | string {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Definition)
      : 'not an object'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
