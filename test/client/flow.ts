import { ApiError, createClient } from '../../src/api/client/client.ts'
import type { components, paths } from './api.d.ts'

type Server = components['schemas']['Server']

interface Options {
  readonly address: string
  readonly token: string
  /** The program of a tool server that has the tool `echo`. */
  readonly program: string
}

/** What a dashboard does, with a client that knows every path and field from the OpenAPI document. */
export async function useService({ address, token, program }: Options): Promise<readonly string[]> {
  const seen: string[] = []
  const owner = createClient<paths>({ address, token })

  const { code } = await owner.post('/api/login-codes')
  const login = await createClient<paths>({ address }).post('/api/login', { body: { code } })
  const client = createClient<paths>({ address, token: login.token })
  const settings = await client.get('/api/settings')
  seen.push(`settings: ${settings.items.some(({ key, env }) => key === 'log_level' && env === 'LOG_LEVEL')}`)

  const added: Server = await client.post('/api/servers', {
    body: { name: 'Echo', command: process.execPath, args: [program] },
  })
  const path = { id: added.id }
  const started = await client.post('/api/servers/{id}/start', { path, query: { wait_s: 60 } })
  seen.push(`started: ${started.status} with ${started.tool_count} tools`)
  const tools = await client.get('/api/servers/{id}/tools', { path })
  const [tool] = tools.items
  seen.push(`tool: ${tool?.name} (${tool?.state})`)
  const result = await client.post('/api/servers/{id}/tools/{tool}/call', {
    path: { ...path, tool: 'echo' },
    body: { arguments: { message: 'hello' } },
  })
  seen.push(`result: ${JSON.stringify(result).includes('hello')}`)
  const changed = await client.patch('/api/servers/{id}', { path, body: { description: 'For tests' } })
  seen.push(`changed: ${changed.description}`)
  const { items, total } = await client.get('/api/logs', { query: { level: 'info', server_id: [added.id] } })
  seen.push(`logs: ${items.length > 0 && total !== 0}`)
  await client.delete('/api/servers/{id}', { path })

  const error = await client.get('/api/servers/{id}', { path }).catch((reason: unknown) => reason)
  if (error instanceof ApiError) seen.push(`error: ${error.status} ${error.code}`)

  /** Never called: each line must be refused by the compiler. */
  const mistakes = [
    // @ts-expect-error there is no such path
    () => client.get('/api/serverz'),
    // @ts-expect-error the path has no such method
    () => client.put('/api/servers'),
    // @ts-expect-error the id is missing
    () => client.get('/api/servers/{id}'),
    // @ts-expect-error the body is missing
    () => client.post('/api/servers'),
    // @ts-expect-error the body has no such field
    () => client.post('/api/servers', { body: { name: 'Echo', comand: 'node' } }),
    // @ts-expect-error a query has no such value
    () => client.get('/api/logs', { query: { level: 'loud' } }),
    // @ts-expect-error a server has no such field
    () => started.toolCount,
  ]
  seen.push(`mistakes: ${mistakes.length}`)
  return seen
}
