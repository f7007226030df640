import { useQuery } from '@tanstack/react-query'
import { api } from '../api.ts'
import { queryClient } from '../query-client.ts'
import { useSession } from '../session.ts'

/** The server that ships with Toolroom. Its id is null while it is not registered. */
export function useSample() {
  const { mayChange } = useSession()
  return useQuery({
    queryKey: ['servers', 'sample'],
    enabled: mayChange,
    queryFn: () => api().get('/api/sample-server'),
  })
}

/** Registers and starts it. Resolves to the Playground with a call filled in. */
export async function addSample(): Promise<string> {
  const { server_id } = await api().post('/api/sample-server')
  await queryClient.invalidateQueries({ queryKey: ['servers'] })
  const args = JSON.stringify({ text: 'Toolroom works' })
  return `/playground?${new URLSearchParams({ server: server_id ?? '', tool: 'add_note', args })}`
}

/** Deletes its notes, too. */
export async function removeSample(): Promise<void> {
  await api().delete('/api/sample-server')
  await queryClient.invalidateQueries({ queryKey: ['servers'] })
}
