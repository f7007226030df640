import type { Client } from '../../../src/client/client.ts'
import { ApiError } from '../../../src/client/client.ts'
import type { components, paths } from '../../generated/api.d.ts'
import { clientWith } from './client.ts'
import { currentSession, onSession } from './session.ts'

type Schemas = components['schemas']

export type StdioServer = Schemas['Server']
export type HttpServer = Schemas['HttpServer']
export type Notice = Schemas['Notice']
export type Job = Schemas['Job']
export type Call = Schemas['Call']
export type LogLine = Schemas['LogLine']
export type Agent = Schemas['AgentSummary']
export type EventRow = Schemas['Event']
export type Summary = Schemas['MetricsSummary']
export type Timeseries = Schemas['Timeseries']
export type ServerTimeseries = Schemas['ServerTimeseries']
export type { Schemas }
export { ApiError }

let client = clientWith(currentSession().token)
onSession(() => {
  client = clientWith(currentSession().token)
})

/** The client with the token of this tab. */
export const api = (): Client<paths> => client

/** The request needs the token, and this tab has none or a wrong one. */
export const needsPermission = (error: unknown): boolean => error instanceof ApiError && error.status === 401
