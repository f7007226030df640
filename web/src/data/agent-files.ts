import { useIsMutating, useMutation, useQuery } from '@tanstack/react-query'
import { ApiError, api, type Schemas } from './api.ts'
import { queryClient } from './query-client.ts'
import { useSession } from './session.ts'

export type ChangeReport = Schemas['AgentChangeReport']
export type AgentView = Schemas['Agent']
export type Entry = Schemas['AgentEntry']

/** What is to be done in one file of an agent. */
export interface FilePlan {
  readonly agent_type: string
  readonly scope: string
  /** Servers whose entries are written. */
  readonly server_ids: readonly string[]
  /** Names of entries that leave. */
  readonly remove: readonly string[]
  /** Names of the user's own entries that are switched off. They are kept. */
  readonly disable: readonly string[]
  /** Of the file that the user has seen. Another one is a conflict. */
  readonly revision: string | null
}

function send({ agent_type, scope, server_ids, remove, disable, revision }: FilePlan, dry_run: boolean) {
  const body = {
    scope,
    dry_run,
    ...(server_ids.length > 0 && { server_ids: [...server_ids], enable: true }),
    ...(remove.length > 0 && { remove: [...remove] }),
    ...(disable.length > 0 && { disable: [...disable] }),
    ...(revision !== null && { revision }),
  }
  return api().put('/api/agents/{agent_type}/servers', { path: { agent_type }, body })
}

export const isConflict = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'config_changed'

/** What the plan would change. After a conflict, `data` is what was seen before the file changed. */
export function usePreview(plan: FilePlan) {
  const enabled = useIsMutating({ mutationKey: WRITE }) === 0 // what we write ourselves is no conflict
  return useQuery({
    queryKey: ['agents', 'preview', plan],
    enabled,
    queryFn: () => send(plan, true),
    retry: false,
  })
}
const WRITE = ['agents', 'write']

/** The same against the file as it is now. */
export function usePreviewNow(plan: FilePlan, enabled: boolean) {
  const now = { ...plan, revision: null }
  return useQuery({
    queryKey: ['agents', 'preview', 'now', now],
    enabled,
    queryFn: () => send(now, true),
    retry: false,
  })
}

interface Writing {
  readonly plans: readonly FilePlan[]
  /** Called after each file. */
  readonly written: (plan: FilePlan, report: ChangeReport) => void
}

/** Writes one file after the other, and stops at the first that fails. */
export function useWritePlans() {
  return useMutation({
    mutationKey: WRITE,
    mutationFn: async ({ plans, written }: Writing) => {
      for (const plan of plans) {
        const report = await send(plan, false)
        await refreshAgents() // first, so that no cell returns to its old state meanwhile
        written(plan, report)
      }
    },
    onError: () => refreshAgents(),
  })
}

export const refreshAgents = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['agents'] })

type Undoable = Pick<ChangeReport, 'agent_type' | 'scope' | 'backup_id'> &
  Partial<Pick<ChangeReport, 'project_path'>>

/** Refused if another program has changed the file since then. The history undoes it all the same, after a look at it. */
export async function undoWrite({
  agent_type,
  scope,
  project_path = null,
  backup_id,
}: Undoable): Promise<ChangeReport> {
  const body = {
    scope,
    ...(project_path !== null && { project_path }),
    ...(backup_id !== null && { backup_id, if_unchanged: true }),
  }
  const report = await api().post('/api/agents/{agent_type}/undo', { path: { agent_type }, body })
  await refreshAgents()
  return report
}

/** A change of a whole file, with its preview: connect, disconnect, undo, take everything out. */
export interface FileAction {
  readonly kind: 'connect' | 'disconnect' | 'restore' | 'undo'
  readonly agent_type: string
  readonly backup_id?: string
  /** Also if the agent was not found on this computer. */
  readonly create?: boolean
  /** Of connect: it sees all servers, also those that are added later, instead of those that it had. */
  readonly all?: boolean
  /** Of connect: an entry for each server, under its old name. */
  readonly keepNames?: boolean
}
export interface FileOutcome {
  readonly agent_type: string
  readonly path: string
  readonly diff: string
  readonly changed: boolean
  readonly reload_hint: string | null
  readonly warnings: readonly string[]
  readonly gateway?: GatewayChange | null
  readonly base_revision?: string | null
}
export type WrittenFile = FileOutcome & Undoable
/** What an agent can use before and after it is connected. */
export type GatewayChange = NonNullable<ChangeReport['gateway']>

/** What another program has edited since the dry run was shown is not overwritten. */
export async function runFileAction(action: FileAction, dry_run: boolean): Promise<WrittenFile[]> {
  const { kind, agent_type, backup_id, create, all, keepNames } = action
  const [shown] = (!dry_run && queryClient.getQueryData<WrittenFile[]>(keyOf(action))) || []
  const revision = shown?.base_revision && { revision: shown.base_revision }
  const path = { agent_type }
  if (kind === 'restore')
    return (await api().post('/api/backups/restore', { body: { agent_type, dry_run } })).items
  if (kind === 'undo')
    return [
      await api().post('/api/agents/{agent_type}/undo', {
        path,
        body: { dry_run, ...revision, ...(backup_id !== undefined && { backup_id }) },
      }),
    ]
  if (kind === 'disconnect')
    return [await api().post('/api/agents/{agent_type}/disconnect', { path, body: { dry_run, ...revision } })]
  const body = {
    dry_run,
    ...revision,
    take_over: true,
    ...(create && { create }),
    ...(all && { servers: 'all' as const }),
    ...(keepNames && { keep_names: true }),
  }
  return [await api().post('/api/agents/{agent_type}/connect', { path, body })]
}

const keyOf = (action: FileAction) => ['agents', 'action', action]

export function useFileAction(action: FileAction) {
  return useQuery({
    queryKey: keyOf(action),
    queryFn: () => runFileAction(action, true),
    retry: false,
  })
}

export type Keep = Schemas['DriftInput']['keep']

const keep = (agent_type: string, body: Schemas['DriftInput']) =>
  api().post('/api/agents/{agent_type}/drift', { path: { agent_type }, body })

/** What another program has changed of what Toolroom wrote: what it takes to write that again. Needs the token. */
export function useDrift(agent_type: string) {
  const { mayChange } = useSession()
  return useQuery({
    queryKey: ['agents', 'drift', agent_type],
    enabled: mayChange,
    queryFn: () => keep(agent_type, { keep: 'toolroom', dry_run: true }),
    select: ({ items }) => items,
    retry: false,
  })
}

/** What another program has edited since it was shown is not overwritten. */
export function useKeep(agent_type: string) {
  return useMutation({
    mutationFn: async ({ version, shown }: { version: Keep; shown: readonly ChangeReport[] }) => {
      const files = shown.map(({ path, base_revision }) => ({ path, revision: base_revision }))
      return (await keep(agent_type, { keep: version, files })).items
    },
    onSettled: () => Promise.all([refreshAgents(), queryClient.invalidateQueries({ queryKey: ['notices'] })]),
  })
}

/** One agent with its files and entries. */
export function useAgent(agent_type: string) {
  return useQuery({
    queryKey: ['agents', 'one', agent_type],
    queryFn: () => api().get('/api/agents/{agent_type}', { path: { agent_type } }),
  })
}

export type AgentFile = Schemas['AgentFile']

/** Lines of one of its files, with secrets masked. Needs the token. */
export function useAgentFile(
  agent_type: string,
  query: { readonly scope: string; readonly first_line: number; readonly limit: number },
) {
  const { mayChange } = useSession()
  return useQuery({
    queryKey: ['agents', 'file', agent_type, query],
    enabled: mayChange,
    queryFn: () => api().get('/api/agents/{agent_type}/file', { path: { agent_type }, query }),
    retry: false,
  })
}

/** Toolroom's changes to its files, newest first. Needs the token. */
export function useWrites(agent_type: string) {
  const { mayChange } = useSession()
  return useQuery({
    queryKey: ['agents', 'writes', agent_type],
    enabled: mayChange,
    queryFn: () => api().get('/api/agents/{agent_type}/history', { path: { agent_type } }),
    select: ({ items }) => items,
  })
}

/** Gives the registered server the settings of the agent's entry, and counts the entry as ours. */
export async function takeTheirs(agent_type: string, entry: Entry, server_id: string): Promise<void> {
  const { items } = await api().post('/api/agents/import', {
    body: { agents: [agent_type], names: [entry.name], update: true, server_id },
  })
  const refused = items.find(({ outcome }) => outcome === 'refused')
  if (refused) throw new Error(refused.reason ?? refused.name)
  if (entry.managed && entry.name === server_id)
    await api().put('/api/agents/{agent_type}/servers', {
      path: { agent_type },
      body: { scope: entry.scope, server_ids: [server_id] },
    })
  await refreshAgents()
  await queryClient.invalidateQueries({ queryKey: ['servers'] })
}
