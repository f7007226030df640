import { useMutation, useQuery } from '@tanstack/react-query'
import { api, type HttpServer, type StdioServer } from './api.ts'
import { queryClient } from './query-client.ts'

/** Both kinds of server. `type` tells them apart: `stdio` runs here, `http` is reached at a URL. */
export type Server = StdioServer | HttpServer

export const stdioQuery = { queryKey: ['servers', 'stdio'], queryFn: () => api().get('/api/servers') }
export const httpQuery = { queryKey: ['servers', 'http'], queryFn: () => api().get('/api/http-servers') }

/** All servers, in the order of their names. */
export function useServers() {
  const stdio = useQuery(stdioQuery)
  const http = useQuery(httpQuery)
  const servers = stdio.data && http.data && merged(stdio.data.items, http.data.items)
  return { servers, error: stdio.error ?? http.error, isPending: servers === undefined }
}

const { compare } = new Intl.Collator()
let last: { stdio: readonly Server[]; http: readonly Server[]; all: Server[] } = {
  stdio: [],
  http: [],
  all: [],
}

/** Many components list the servers. They share one sorted list, which is the same object until a server changes. */
function merged(stdio: readonly StdioServer[], http: readonly HttpServer[]): readonly Server[] {
  if (last.stdio !== stdio || last.http !== http)
    last = { stdio, http, all: [...stdio, ...http].sort((a, b) => compare(a.name, b.name)) }
  return last.all
}

/** One server of either kind, by its id. `server` is null if there is none. */
export function useServer(id: string) {
  const { servers, ...rest } = useServers()
  return { server: servers && (servers.find((server) => server.id === id) ?? null), ...rest }
}

/** The query of the tools of one server, for pages that read those of many. */
export const toolsQuery = ({ id, type }: Pick<Server, 'id' | 'type'>) => ({
  queryKey: ['tools', type, id],
  queryFn: () =>
    type === 'http'
      ? api().get('/api/http-servers/{id}/tools', { path: { id } })
      : api().get('/api/servers/{id}/tools', { path: { id } }),
})

export function useTools(server: Pick<Server, 'id' | 'type'>, enabled = true) {
  return useQuery({ ...toolsQuery(server), enabled })
}

export type ServerAction = 'start' | 'stop' | 'restart'

/** Starts a STDIO server, again if it runs, and waits for it. It fails with the reason if the server does not start. */
export function useStart() {
  return useMutation({
    mutationFn: (id: string) =>
      api().post('/api/servers/{id}/restart', { path: { id }, query: { wait_s: START_WAIT_S } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['servers'] }),
  })
}
const START_WAIT_S = 60

/** Starts, stops or restarts a STDIO server. The status moves at once and returns if the service refuses. */
export function useServerAction() {
  return useMutation({
    mutationFn: ({ id, action }: { id: string; action: ServerAction }) => {
      const path = { id }
      if (action === 'start') return api().post('/api/servers/{id}/start', { path, query: { wait_s: 0 } })
      if (action === 'stop') return api().post('/api/servers/{id}/stop', { path })
      return api().post('/api/servers/{id}/restart', { path, query: { wait_s: 0 } })
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['servers'] }),
  })
}
