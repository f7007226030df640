import { useMutation, useQuery } from '@tanstack/react-query'
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

export type Places = Schemas['IsolationAbilities']

/** Where servers can run on this computer. Asked again for each form: a program may have been installed since. */
export function usePlaces() {
  return useQuery({
    queryKey: ['settings', 'isolation'],
    queryFn: () => api().get('/api/isolation'),
    staleTime: 10_000,
    refetchOnWindowFocus: true,
  })
}

/** Why servers cannot run in this place, and what helps. */
export function placeProblem(places: Places | undefined, isolation: Walls['isolation']): string | undefined {
  const place = isolation === 'none' ? undefined : places?.[isolation]
  if (!place || place.available) return undefined
  return [place.problem, place.remedy]
    .filter((text) => text !== null)
    .map((text) => (/[.!?]$/.test(text) ? text : `${text}.`))
    .join(' ')
}

/** Starts a job. A second request for the same image joins the running one. */
export function usePullImage() {
  return useMutation({
    mutationFn: (image: string) =>
      api().post('/api/images/pull', { body: { image }, query: { async: true } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['jobs'] }),
  })
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
