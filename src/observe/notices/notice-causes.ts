import type { Orphan } from '../../kernel/orphan-process.ts'
import type { Trouble } from '../../servers/shared/upstream.ts'
import type { Cause } from './notices.schema.ts'

/** The texts of all notices: what happened, then what to do. What a server wrote is only in the evidence. */

interface Server {
  readonly id: string
  readonly name: string
}

const aboutServer = ({ id }: Server) => ({ subject: id, server_id: id, agent_type: null })

/** About neither a server nor an agent. */
const general = { subject: '', server_id: null, agent_type: null, evidence: null }

const TROUBLES = {
  crashed: {
    kind: 'server_crashed',
    todo: 'Read its last lines, then correct its settings',
    label: 'Show why',
  },
  failed: { kind: 'server_failed', todo: 'Read the reason, then correct its settings', label: 'Show why' },
  degraded: { kind: 'server_degraded', todo: 'Read the reason in its log', label: 'Show why' },
  login_needed: { kind: 'login_needed', todo: 'Sign in again, or update its headers', label: 'Sign in' },
  not_allowed: {
    kind: 'outgoing_held',
    todo: 'Look at each value and where it goes, then allow them',
    label: 'Look at them',
  },
} as const

export const SERVER_KINDS = Object.values(TROUBLES).map(({ kind }) => kind)

export function serverTrouble(server: Server, trouble: Trouble): Cause {
  const { kind, todo, label } = TROUBLES[trouble.kind]
  return {
    kind,
    ...aboutServer(server),
    text: `'${server.name}' ${trouble.what}. ${trouble.hint ?? todo}`,
    evidence: trouble.message,
    action: { label, route: `/servers/${server.id}`, ...(trouble.action ?? SEE_LOG) },
  }
}

const SEE_LOG = { kind: 'see_log' } as const

export interface ToolChange {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
}

export function toolsChanged(server: Server, { added, removed, changed }: ToolChange): Cause {
  const counts = [`${added.length} new`, `${changed.length} changed`, `${removed.length} removed`]
  const named = { new: added, changed, removed }
  return {
    kind: 'tools_changed',
    ...aboutServer(server),
    text: `The tools of '${server.name}' have changed: ${counts.join(', ')}. Review them`,
    evidence: Object.entries(named)
      .flatMap(([word, names]) => (names.length === 0 ? [] : [`${word}: ${shortList(names)}`]))
      .join('; '),
    action: review(server),
  }
}

const review = ({ id }: Server): Cause['action'] => ({
  label: 'Review',
  route: `/servers/${id}?tab=tools`,
  kind: 'approve_tools',
})

export function toolsHeld(server: Server, names: readonly string[]): Cause {
  const count = names.length === 1 ? '1 tool is' : `${names.length} tools are`
  return {
    kind: 'tools_held',
    ...aboutServer(server),
    text: `${count} held on '${server.name}', so agents do not see what is new. Review and approve`,
    evidence: shortList(names),
    action: review(server),
  }
}

/** A file of an agent that needs a person. */
export interface FileTrouble {
  readonly agent_type: string
  readonly agent_name: string
  readonly path: string
  /** Entries that Toolroom wrote, and that another program has changed or removed. */
  readonly edited: readonly string[]
  /** Why the file cannot be read; null if it can. */
  readonly unreadable: string | null
}

export function fileTrouble({ agent_type, agent_name, path, edited, unreadable }: FileTrouble): Cause {
  const about = { subject: path, server_id: null, agent_type }
  const route = `/agents/${agent_type}`
  if (unreadable !== null)
    return {
      kind: 'agent_file_unreadable',
      ...about,
      text: `A file of ${agent_name} cannot be read. Correct it; Toolroom does not write to it until then`,
      evidence: unreadable.includes(path) ? unreadable : `${path}: ${unreadable}`,
      action: { label: 'Show the place', route, kind: 'see_file', agent_type },
    }
  return {
    kind: 'agent_file_edited',
    ...about,
    text: `Another program has changed ${agent_name}'s entries that Toolroom wrote. Compare them, and keep what Toolroom wrote or what the file says now`,
    evidence: `${path}: ${shortList(edited)}`,
    action: { label: 'See the difference', route: `${route}?drift=1`, kind: 'see_difference', agent_type },
  }
}

export interface PackageState {
  readonly name: string
  readonly version: string
  /** A newer version, if there is one. */
  readonly update: string | null
  readonly deprecated: string | null
}

export function packageCauses({ name, version, update, deprecated }: PackageState): Cause[] {
  const action = { label: 'Show the package', route: '/packages?tab=installed', package: name } as const
  const about = { ...general, subject: name }
  const causes: Cause[] = []
  if (update !== null) {
    const text = `${name} ${update} is available. Update it; the new version is tried out first`
    causes.push({
      ...about,
      kind: 'package_update',
      text,
      evidence: `Installed: ${version}`,
      action: { ...action, kind: 'update_package' },
    })
  }
  if (deprecated !== null) {
    const text = `${name} ${version} is deprecated. Replace it with what its author recommends`
    causes.push({
      ...about,
      kind: 'package_deprecated',
      text,
      evidence: deprecated,
      action: { ...action, kind: 'see_package' },
    })
  }
  return causes
}

/** Below both, leaked processes are no reason to interrupt a person. */
const MIN_LEAKED = { processes: 5, bytes: 500 * 1_048_576 }

export function leakedProcesses(orphans: readonly Orphan[]): Cause[] {
  const processes = orphans.reduce((sum, orphan) => sum + orphan.processes, 0)
  const bytes = orphans.reduce((sum, { rss_bytes }) => sum + rss_bytes, 0)
  if (processes < MIN_LEAKED.processes && bytes < MIN_LEAKED.bytes) return []
  const megabytes = Math.round(bytes / 1_048_576)
  return [
    {
      ...general,
      kind: 'leaked_processes',
      text: `${processes} MCP processes have lost their agent and use ${megabytes} MB. End those that you do not need`,
      evidence: shortList(orphans.map(({ pid, command }) => `${pid} ${command}`)),
      action: { label: 'Look at them', route: '/', kind: 'end_processes' },
    },
  ]
}

const onDisk = {
  ...general,
  kind: 'disk',
  action: { label: 'Show sizes', route: '/settings', kind: 'free_disk' },
} as const

export const diskFull = (): Cause => ({
  ...onDisk,
  subject: 'full',
  text: 'The disk that holds the data folder is full. Free some space; until then, nothing can be changed',
})

export const logLinesLost = (why: string): Cause => ({
  ...onDisk,
  subject: 'log',
  text: /disk/i.test(why)
    ? 'Log lines are being lost. Free some space on the disk that holds the data folder'
    : 'Log lines are being lost, because the log cannot be written. Make logs.db in the data folder writable',
  evidence: why,
})

export const weakToken = (text: string): Cause => ({
  ...general,
  kind: 'weak_token',
  text,
  action: { label: 'Change the token', route: '/settings', kind: 'rotate_token' },
})

/** Something about the settings that the start reported. */
export const settingsWarning = (text: string): Cause => ({
  ...general,
  kind: 'settings',
  subject: text,
  text,
  action: { label: 'Show the settings', route: '/settings', kind: 'see_settings' },
})

const MAX_NAMES = 10

function shortList(names: readonly string[]): string {
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : ''
  return names.slice(0, MAX_NAMES).join(', ') + more
}
