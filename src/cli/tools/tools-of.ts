import { didYouMean } from '../../kernel/did-you-mean.ts'
import { Failure } from '../run/failure.ts'
import type { Api, Schemas } from '../run/service-client.ts'
import { type AnyServer, isStdio } from '../servers/any-server.ts'

export type Tool = Schemas['Tool']

/** The tools of a server, from its last listing if it does not run. */
export async function toolsOf(api: Api, server: AnyServer): Promise<Tool[]> {
  const path = { id: server.id }
  const list = isStdio(server)
    ? await api.get('/api/servers/{id}/tools', { path })
    : await api.get('/api/http-servers/{id}/tools', { path })
  return list.items
}

/** The tool with this name, or the only one that begins with it. */
export function toolNamed(tools: readonly Tool[], given: string, server: string): Tool {
  const begun = tools.filter(({ name }) => name.startsWith(given))
  const found = tools.find(({ name }) => name === given) ?? (begun.length === 1 ? begun[0] : undefined)
  if (found) return found
  const hint =
    begun.length > 1
      ? `Several begin with it: ${begun.map(({ name }) => name).join(', ')}`
      : didYouMean(
          given,
          tools.map(({ name }) => name),
        )
  throw new Failure('not_found', `${server} has no tool '${given}'`, hint ?? `See toolroom tools ${server}`)
}
