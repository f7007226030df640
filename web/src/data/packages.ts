import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query'
import { api, type Schemas } from './api.ts'
import { queryClient } from './query-client.ts'

export type Package = Schemas['Package']
export type Found = Schemas['SearchResults']['items'][number]
export type InstallInput = Schemas['InstallInput']

export const packagesQuery = {
  queryKey: ['packages', 'installed'],
  queryFn: () => api().get('/api/packages'),
}

/** The installed packages. */
export function usePackages() {
  return useQuery({ ...packagesQuery, select: ({ items }) => items })
}

/** What the registry has for these words. */
export function usePackageSearch(query: string, mcp_only: boolean) {
  return useQuery({
    queryKey: ['registry', 'search', query, mcp_only],
    enabled: query !== '',
    queryFn: ({ signal }) => {
      const body = { query, mcp_only, size: 30, from: 0, source: 'npm' } as const
      return api().post('/api/packages/search', { body, signal })
    },
    placeholderData: keepPreviousData,
  })
}

const refresh = () =>
  Promise.all(
    ['packages', 'jobs', 'servers'].map((root) => queryClient.invalidateQueries({ queryKey: [root] })),
  )

/** Starts a job. A second request for the same package joins the running one. */
export function useInstall() {
  return useMutation({
    mutationFn: (body: InstallInput) =>
      api().post('/api/packages/install-npm', { body, query: { async: true } }),
    onSettled: refresh,
  })
}

/** Installs the new version beside the old one and tries it; then the job waits until it is continued. */
export function useUpdatePackage() {
  return useMutation({
    mutationFn: (id: string) =>
      api().post('/api/packages/{id}/update', { path: { id }, query: { hold: true }, body: {} }),
    onSettled: refresh,
  })
}

export function useContinueJob() {
  return useMutation({
    mutationFn: (id: string) => api().post('/api/jobs/{id}/continue', { path: { id } }),
    onSettled: refresh,
  })
}

export function useRollBack() {
  return useMutation({
    mutationFn: (id: string) => api().post('/api/packages/{id}/rollback', { path: { id } }),
    onSettled: refresh,
  })
}

/** Asks the registry for newer versions of all installed packages. */
export function useRefreshPackages() {
  return useMutation({ mutationFn: () => api().post('/api/packages/refresh'), onSettled: refresh })
}

/** Makes a server that downloads the package with npx run the installed one. */
export function useRunInstalled() {
  return useMutation({
    mutationFn: ({ id, name }: { readonly id: string; readonly name: string }) =>
      api().patch('/api/servers/{id}', { path: { id }, body: { package: name } }),
    onSettled: refresh,
  })
}

/** Removes the servers that run from the package, then the package. */
export function useUninstall() {
  return useMutation({
    mutationFn: async ({ id, used_by }: Pick<Package, 'id' | 'used_by'>) => {
      if (used_by.length > 0)
        await api().post('/api/servers/bulk', { body: { action: 'delete', ids: used_by } })
      await api().delete('/api/packages/{id}', { path: { id } })
    },
    onSettled: refresh,
  })
}
