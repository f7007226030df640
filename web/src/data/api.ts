import type { Client } from '../../../src/api/client/client.ts'
import { ApiError, reach, Unreachable } from '../../../src/api/client/client.ts'
import type { components, paths } from '../../generated/api.d.ts'
import { clientWith, TOKEN_HEADER } from './client.ts'
import { currentSession, onSession } from './session.ts'

type Schemas = components['schemas']

export type StdioServer = Schemas['Server']
export type HttpServer = Schemas['HttpServer']
export type Notice = Schemas['Notice']
/** What helps, as data. */
export type RepairAction = NonNullable<NonNullable<StdioServer['last_error']>['action']>
export type Job = Schemas['Job']
export type Call = Schemas['Call']
export type LogLine = Schemas['LogLine']
export type Agent = Schemas['AgentSummary']
export type EventRow = Schemas['Event']
export type Timeseries = Schemas['Timeseries']
export type ServerTimeseries = Schemas['ServerTimeseries']
export type { Schemas }
export { ApiError, reach, Unreachable }

let client = clientWith(currentSession().token)
onSession(() => {
  client = clientWith(currentSession().token)
})

/** The client with the token of this tab. */
export const api = (): Client<paths> => client

/** The request needs the token, and this tab has none or a wrong one. */
export const needsPermission = (error: unknown): boolean => error instanceof ApiError && error.status === 401

type Value = string | number | readonly (string | number)[] | undefined

/** Saves an answer of the service as a file. It is read by a request of ours, because a link cannot carry the token. */
export async function saveFile(
  path: string,
  query: Readonly<Record<string, Value>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const url = new URL(path, location.origin)
  for (const [name, value] of Object.entries(query))
    for (const one of [value].flat()) if (one !== undefined) url.searchParams.append(name, String(one))
  const { token } = currentSession()
  const response = await reach(url, {
    headers: { ...headers, ...(token !== undefined && { [TOKEN_HEADER]: token }) },
  })
  if (!response.ok) throw new ApiError(response.status, await response.text())
  const named = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1]
  saveBlob(await response.blob(), named ?? 'toolroom.txt')
}

function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
