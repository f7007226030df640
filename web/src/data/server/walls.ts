import { useMutation } from '@tanstack/react-query'
import { api, type Schemas, type StdioServer } from '../api.ts'
import { queryClient } from '../query-client.ts'

/** Where a server runs, and what is open there. */
export type Walls = Pick<StdioServer, 'isolation' | 'isolation_options'>
export type IsolationOptions = Walls['isolation_options']
export type WallsReport = Schemas['WallsTrialReport']
export type Refusal = WallsReport['refused'][number]

/** As for a server that names none. */
export const NO_DOORS: IsolationOptions = {
  write: [],
  read: [],
  network: 'none',
  image: null,
  memory_mb: 1024,
  pids: 256,
}

export interface TrialCall {
  readonly tool: string
  readonly arguments: Record<string, unknown>
}

/** Runs a server once more behind these walls, beside the running one. Nothing is stored. */
export function useTryWalls(id: string) {
  return useMutation({
    mutationFn: ({ calls, ...walls }: Walls & { readonly calls: readonly TrialCall[] }) =>
      api().post('/api/servers/{id}/trial', { path: { id }, body: { ...walls, calls: [...calls] } }),
  })
}

/** From its next start. One that runs is started again. */
export async function keepWalls(id: string, { isolation, isolation_options }: Walls): Promise<void> {
  try {
    await api().patch('/api/servers/{id}', { path: { id }, body: { isolation, isolation_options } })
  } finally {
    await queryClient.invalidateQueries({ queryKey: ['servers'] })
  }
}
