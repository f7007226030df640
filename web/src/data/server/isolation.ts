import { useMutation, useQuery } from '@tanstack/react-query'
import { api, type Schemas, type StdioServer } from '../api.ts'
import { queryClient } from '../query-client.ts'

/** Where a server runs, and what is open there. */
export type Confinement = Pick<StdioServer, 'isolation' | 'isolation_options'>
export type IsolationOptions = Confinement['isolation_options']
export type WallsReport = Schemas['WallsTrialReport']
export type Refusal = WallsReport['refused'][number]

/** As for a server that names none. */
export const NO_GRANTS: IsolationOptions = {
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
export function placeProblem(
  places: Places | undefined,
  isolation: Confinement['isolation'],
): string | undefined {
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

/** Runs a server once more with this isolation, beside the running one. Nothing is stored. */
export function useTryIsolation(id: string) {
  return useMutation({
    mutationFn: ({ calls, ...confinement }: Confinement & { readonly calls: readonly TrialCall[] }) =>
      api().post('/api/servers/{id}/trial', { path: { id }, body: { ...confinement, calls: [...calls] } }),
  })
}

/** From its next start. One that runs is started again. */
export async function keepIsolation(
  id: string,
  { isolation, isolation_options }: Confinement,
): Promise<void> {
  try {
    await api().patch('/api/servers/{id}', { path: { id }, body: { isolation, isolation_options } })
  } finally {
    await queryClient.invalidateQueries({ queryKey: ['servers'] })
  }
}
