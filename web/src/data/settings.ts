import { useMutation, useQuery } from '@tanstack/react-query'
import { api, type Schemas } from './api.ts'
import { atOnce } from './at-once.ts'
import { queryClient } from './query-client.ts'
import { signIn, useSession } from './session.ts'

export type Setting = Schemas['Setting']
const KEY = ['settings', 'all']
const refresh = () => queryClient.invalidateQueries({ queryKey: ['settings'] })

/** A read that needs the token; without it there is nothing to show. */
function useTokenQuery<T>(name: string, queryFn: () => Promise<T>) {
  const { mayChange } = useSession()
  return useQuery({ queryKey: ['settings', name], enabled: mayChange, queryFn })
}

/** All settings with their values and where they come from. It needs the token. */
export const useSettings = () => useTokenQuery('all', () => api().get('/api/settings'))

/** Writes one setting to config.json. It is shown at once and returns if the service refuses. Null removes it. */
export function useChangeSetting() {
  return useMutation({
    mutationFn: ({ key, value }: { key: string; value: unknown }) =>
      api().patch('/api/settings', { body: { [key]: value } as Schemas['SettingsPatch'] }),
    onMutate: ({ key, value }) => {
      const before = queryClient.getQueryData<Schemas['SettingList']>(KEY)
      if (before)
        queryClient.setQueryData(KEY, {
          ...before,
          items: before.items.map((item) => (item.key === key ? { ...item, value } : item)),
        })
      return before
    },
    onError: (_error, _change, before) => queryClient.setQueryData(KEY, before),
    onSettled: refresh,
  })
}

/** Replaces the token and keeps the new one in this tab. */
export function useRotateToken() {
  return useMutation({
    mutationFn: async () => {
      const { token } = await api().post('/api/token/rotate')
      await signIn(token)
    },
  })
}

/** Whether Toolroom starts at login. */
export const useAutostart = () => useTokenQuery('autostart', () => api().get('/api/service'))
export function useInstallAutostart() {
  return useMutation({
    mutationFn: () => api().put('/api/service', { body: { starts_at_login: true } }),
    onSettled: refresh,
  })
}

export const useGatewayKeys = () => useTokenQuery('keys', () => api().get('/api/keys'))
/** The value of the key is in this answer only. */
export function useCreateKey() {
  return useMutation({
    mutationFn: (body: Schemas['GatewayKeyInput']) => api().post('/api/keys', { body }),
    onSettled: refresh,
  })
}
export function useRemoveKey() {
  return useMutation({
    mutationFn: (id: string) => api().delete('/api/keys/{id}', { path: { id } }),
    onSettled: refresh,
  })
}

export const useSecrets = () => useTokenQuery('secrets', () => api().get('/api/secrets'))
export function useSaveSecret() {
  return useMutation({
    mutationFn: ({ name, value }: { name: string; value: string }) =>
      api().put('/api/secrets/{name}', { path: { name }, body: { value } }),
    onSettled: refresh,
  })
}
export function useRemoveSecret() {
  return useMutation({
    mutationFn: (name: string) => api().delete('/api/secrets/{name}', { path: { name } }),
    onSettled: refresh,
  })
}

export const useMutes = () => useTokenQuery('mutes', () => api().get('/api/notices/mutes'))
export const setMutes = (body: Schemas['Mutes']): Promise<void> =>
  atOnce<Schemas['Mutes']>({
    of: 'mutes',
    queryKey: ['settings', 'mutes'],
    update: () => body,
    send: () => api().put('/api/notices/mutes', { body }),
    outdated: ['settings', 'notices'],
  })

export function useRedact() {
  return useMutation({ mutationFn: (text: string) => api().post('/api/redact', { body: { text } }) })
}

/** Imports an exported file, or says what would happen. */
export function useImportFile() {
  return useMutation({
    mutationFn: (body: Schemas['FileImportInput']) => api().post('/api/import', { body }),
    onSettled: () => queryClient.invalidateQueries(),
  })
}

export const useHealth = () =>
  useQuery({ queryKey: ['health', 'now'], queryFn: () => api().get('/api/health') })
