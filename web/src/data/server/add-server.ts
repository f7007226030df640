import { useMutation, useQuery } from '@tanstack/react-query'
import { api, type Schemas } from '../api.ts'
import { namedOutgoing, type Outgoing } from '../outgoing.ts'
import { queryClient } from '../query-client.ts'
import type { Confinement } from './isolation.ts'

export type Understood = Schemas['SnippetReport']
export type UnderstoodItem = Understood['items'][number]
type StartMode = NonNullable<Schemas['SnippetInput']['start_mode']>

const OPTIONS = { on_conflict: 'skip', pin: false } as const

/** What a command, a URL, a snippet or a link means, and whether it could be added. Nothing is changed. */
export function useUnderstood(snippet: string, name: string | undefined) {
  return useQuery({
    queryKey: ['servers', 'understood', snippet, name],
    enabled: snippet !== '',
    gcTime: 0, // it may contain secrets
    queryFn: ({ signal }) =>
      api().post('/api/servers/import', {
        signal,
        body: { ...OPTIONS, snippet, dry_run: true, move_secrets: false, ...(name && { name }) },
      }),
    placeholderData: (before) => before,
  })
}

/** What the registry says about the package that `npx` would download. */
export function usePackageFacts(spec: string | null) {
  const name = spec?.replace(/(?<=.)@[^@/]*$/, '') ?? ''
  return useQuery({
    queryKey: ['registry', 'facts', name],
    enabled: name !== '',
    queryFn: ({ signal }) =>
      api().post('/api/packages/search', {
        signal,
        body: { query: name, size: 5, from: 0, mcp_only: false, source: 'npm' },
      }),
    select: ({ items }) => items.find((item) => item.name === name) ?? null,
    retry: false,
  })
}

export interface NewServer {
  readonly snippet: string
  readonly name: string | undefined
  readonly start_mode: StartMode
  readonly move_secrets: boolean
  /** For a single STDIO server. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  /** In place of the placeholders, by their text. */
  readonly values: Readonly<Record<string, string>>
  /** Undefined: those of the setting, or of a container that the snippet runs. */
  readonly confinement: Confinement | undefined
  /** The agents that see it. Undefined: those that follow all servers. */
  readonly agents: readonly string[] | undefined
  /** What was listed, and is allowed with the import. */
  readonly outgoing: readonly Outgoing[]
}

export interface Added {
  readonly id: string
  readonly name: string
  readonly tool_count: number | null
  /** Why it does not work yet. */
  readonly problem: string | null
}

/** Adds the servers, then starts or checks each of them. One that does not start stays added, with its reason. */
export function useAddServer() {
  return useMutation({
    mutationFn: async ({
      snippet,
      name,
      start_mode,
      move_secrets,
      env,
      cwd,
      values,
      confinement,
      agents,
      outgoing,
    }: NewServer): Promise<Added[]> => {
      const body = {
        ...OPTIONS,
        ...{
          snippet,
          start_mode,
          move_secrets,
          values,
          dry_run: false,
          allow_outgoing: namedOutgoing(outgoing),
        },
        ...(name && { name }),
        ...(agents && { agents: [...agents] }),
        ...confinement,
      }
      const { items } = await api().post('/api/servers/import', { body })
      const added: Added[] = []
      for (const item of items) {
        if (item.id === null || item.outcome !== 'created') throw new Error(item.reason ?? item.outcome)
        if (item.type === 'stdio') await complete(item, { env, cwd })
        added.push(await tried(item))
      }
      return added
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['servers'] }),
  })
}

type Completion = Pick<NewServer, 'env' | 'cwd'>

/** Before its first start. */
async function complete(item: UnderstoodItem, { env, cwd }: Completion): Promise<void> {
  const change = {
    ...(Object.keys(env).length > 0 && {
      env: { ...Object.fromEntries(item.env.map((name) => [name, '***'])), ...env },
    }),
    ...(cwd !== '' && { cwd }),
  }
  if (Object.keys(change).length === 0 || item.id === null) return
  const path = { id: item.id }
  try {
    await api().patch('/api/servers/{id}', { path, body: change })
  } catch (error) {
    await api().delete('/api/servers/{id}', { path }) // not as it was asked for
    throw error
  }
}

async function tried({ id, type, name }: UnderstoodItem): Promise<Added> {
  const path = { id: id ?? '' }
  try {
    if (type === 'http') {
      const { tool_count, error } = await api().post('/api/http-servers/{id}/test', { path })
      return { id: path.id, name, tool_count, problem: error?.message ?? null }
    }
    const query = { wait_s: 120 }
    const { tool_count } = await api().post('/api/servers/{id}/start', { path, query })
    return { id: path.id, name, tool_count, problem: null }
  } catch (error) {
    return {
      id: path.id,
      name,
      tool_count: null,
      problem: error instanceof Error ? error.message : String(error),
    }
  }
}
