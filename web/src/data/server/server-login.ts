import { useMutation, useQuery } from '@tanstack/react-query'
import { api } from '../api.ts'
import { queryClient } from '../query-client.ts'
import { useSession } from '../session.ts'

const refresh = () => queryClient.invalidateQueries({ queryKey: ['servers'] })

/** The login of an HTTP server and its account. It needs the token. */
export function useServerLogin(id: string, enabled: boolean) {
  const { mayChange } = useSession()
  return useQuery({
    queryKey: ['servers', 'login', id],
    enabled: enabled && mayChange,
    queryFn: () => api().get('/api/http-servers/{id}/login', { path: { id } }),
    refetchInterval: ({ state }) => (state.data?.auth.pending_until ? 2000 : false),
  })
}

/** Begins a login. The answer has the page where the user signs in. */
export function useSignIn() {
  return useMutation({
    mutationFn: (id: string) => api().post('/api/http-servers/{id}/login', { path: { id }, body: {} }),
    onSettled: refresh,
  })
}

const EVERY_MS = 1500

/** Waits until the user has decided at the issuer, or the time for it is over. Returns why there is no login. */
export async function loginRefused(id: string): Promise<string | undefined> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
    const { auth } = await api().get('/api/http-servers/{id}/login', { path: { id } })
    if (auth.pending_until !== null) continue
    await refresh()
    return auth.error?.message
  }
}

/** Says whether the account of a login that an agent led to is right. */
export function useConfirmLogin() {
  return useMutation({
    mutationFn: ({ id, accept }: { readonly id: string; readonly accept: boolean }) =>
      api().post('/api/http-servers/{id}/login/confirm', { path: { id }, body: { accept } }),
    onSettled: refresh,
  })
}

export function useSignOut() {
  return useMutation({
    mutationFn: (id: string): Promise<unknown> =>
      api().delete('/api/http-servers/{id}/login', { path: { id } }),
    onSettled: refresh,
  })
}
