import { useMutation, useQuery } from '@tanstack/react-query'
import { api, type HttpServer, type Schemas, type StdioServer } from '../api.ts'
import { atOnce } from '../at-once.ts'
import { namedOutgoing, type Outgoing } from '../outgoing.ts'
import { queryClient } from '../query-client.ts'
import type { Server } from '../servers.ts'
import { useSession } from '../session.ts'

export type StdioChange = Schemas['ServerPatch']
export type HttpChange = Schemas['HttpServerUpdate']
export type Tool = Schemas['Tool']
export type ToolDiff = Schemas['ToolDiff']
export type Diagnosis = Schemas['Diagnosis']

const refresh = (...roots: string[]) =>
  Promise.all(roots.map((root) => queryClient.invalidateQueries({ queryKey: [root] })))

/** What decides whether a start works. */
const MENDING = ['command', 'args', 'env', 'cwd', 'isolation', 'isolation_options']

/**
 * Changes the definition of a server. Values that are `***` stay as they are stored. A server that failed is started
 * again after a change of what it runs, because that is what the change is for.
 */
export function useChangeServer(server: Server) {
  const path = { id: server.id }
  return useMutation({
    mutationFn: async (change: StdioChange | HttpChange): Promise<StdioServer | HttpServer> => {
      if (server.type === 'http')
        return api().put('/api/http-servers/{id}', { path, body: change as HttpChange })
      const changed = await api().patch('/api/servers/{id}', { path, body: change as StdioChange })
      const isMended = MENDING.some((field) => field in change)
      if (!isMended || !['failed', 'backoff'].includes(server.status)) return changed
      return api().post('/api/servers/{id}/restart', { path, query: { wait_s: 0 } })
    },
    onSettled: () => refresh('servers', 'tools', 'agents'),
  })
}

interface Variable {
  readonly server: StdioServer
  readonly name: string
  readonly value: string
  /** The named secret that gets the value; the variable refers to it. Undefined: the variable has the value itself. */
  readonly secret: string | undefined
}

/** Sets a variable of a server. The others stay. It starts nothing. */
export function useSaveVariable() {
  return useMutation({
    mutationFn: async ({ server: { id, env }, name, value, secret }: Variable) => {
      if (secret !== undefined)
        await api().put('/api/secrets/{name}', { path: { name: secret }, body: { value } })
      const set = secret === undefined ? value : `$\{secret:${secret}}`
      await api().patch('/api/servers/{id}', { path: { id }, body: { env: { ...env, [name]: set } } })
    },
    onSettled: () => refresh('servers', 'settings'),
  })
}

/** Allows what was shown, and nothing else. */
export function useAllowOutgoing({ id, type }: Server) {
  const path = { id }
  return useMutation({
    mutationFn: async (shown: readonly Outgoing[]): Promise<void> => {
      const body = { allow_outgoing: namedOutgoing(shown) }
      if (type === 'http') await api().put('/api/http-servers/{id}', { path, body })
      else await api().patch('/api/servers/{id}', { path, body })
    },
    onSettled: () => refresh('servers', 'tools', 'notices'),
  })
}

export function removeServer({ id, type }: Pick<Server, 'id' | 'type'>): Promise<unknown> {
  const path = { id }
  const removal =
    type === 'stdio'
      ? api().delete('/api/servers/{id}', { path })
      : api().delete('/api/http-servers/{id}', { path })
  return removal.finally(() => refresh('servers', 'notices', 'agents'))
}

type ToolSettings = Server['tools']

/** Switches tools on or off; the settings of the other ones stay. */
export function switchTools(server: Server, names: readonly string[], enabled: boolean): Promise<void> {
  const change = (tools: ToolSettings): ToolSettings => ({
    ...tools,
    ...Object.fromEntries(names.map((name) => [name, { alias: tools[name]?.alias ?? null, enabled }])),
  })
  return setTools(server, change)
}

/** The settings of all tools become those of an earlier moment. */
export const restoreTools = (server: Server): Promise<void> => setTools(server, () => server.tools)

/** What is stored is read first, because a given map replaces it. */
function setTools({ id, type }: Server, change: (tools: ToolSettings) => ToolSettings): Promise<void> {
  const path = { id }
  return atOnce<{ items: Server[] }>({
    of: `server ${id}`,
    queryKey: ['servers', type],
    update: (list) => ({
      ...list,
      items: list.items.map((each) => (each.id === id ? { ...each, tools: change(each.tools) } : each)),
    }),
    send: async () => {
      if (type === 'http') {
        const { tools } = await api().get('/api/http-servers/{id}', { path })
        return api().put('/api/http-servers/{id}', { path, body: { tools: change(tools) } })
      }
      const { tools } = await api().get('/api/servers/{id}', { path })
      return api().patch('/api/servers/{id}', { path, body: { tools: change(tools) } })
    },
    outdated: ['servers', 'tools', 'agents'],
  })
}

export function useApproveTool({ id, type }: Server) {
  return useMutation({
    mutationFn: ({ name, hash }: Pick<Tool, 'name' | 'hash'>): Promise<unknown> => {
      const input = { path: { id, tool: name }, body: { hash } }
      return type === 'stdio'
        ? api().post('/api/servers/{id}/tools/{tool}/approve', input)
        : api().post('/api/http-servers/{id}/tools/{tool}/approve', input)
    },
    onSettled: () => refresh('tools', 'notices', 'servers'),
  })
}

/** What a start needs, and whether it is there. A server that is not running may be started once, so it is asked for. */
export function useDiagnosis(server: Server, enabled: boolean) {
  const { mayChange } = useSession()
  const { id, type, revision, last_error } = server
  return useQuery({
    queryKey: ['servers', 'diagnosis', id, revision, last_error?.code],
    enabled: enabled && mayChange,
    queryFn: () =>
      type === 'stdio'
        ? api().post('/api/servers/{id}/diagnose', { path: { id } })
        : api().post('/api/http-servers/{id}/diagnose', { path: { id } }),
    staleTime: 15_000,
  })
}

/** Checks an HTTP server now. */
export function useTestServer() {
  return useMutation({
    mutationFn: (id: string) => api().post('/api/http-servers/{id}/test', { path: { id } }),
    onSettled: () => refresh('servers', 'tools'),
  })
}

/** A stored value in full. It needs the token, and is not kept in the cache. */
export async function reveal({ id, type }: Server, field: string, name?: string): Promise<string> {
  const named = name === undefined ? {} : { name }
  const path = { id }
  const { value } =
    type === 'stdio'
      ? await api().post('/api/servers/{id}/reveal', {
          path,
          body: { field: field as Schemas['RevealInput']['field'], ...named },
        })
      : await api().post('/api/http-servers/{id}/reveal', {
          path,
          body: { field: field as Schemas['HttpRevealInput']['field'], ...named },
        })
  return value
}

export function useBulk() {
  return useMutation({
    mutationFn: ({ action, ids }: { action: 'start' | 'stop' | 'restart'; ids: string[] }) =>
      api().post('/api/servers/bulk', { body: { action, ids } }),
    onSettled: () => refresh('servers'),
  })
}
