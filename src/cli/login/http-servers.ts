import type { Named } from '../frame/find-named.ts'
import type { ServiceClient } from '../frame/service-client.ts'

/** The issuer is asked for registration and discovery before the answer. */
export const LOGIN_MS = 60_000

export interface HttpServerLine extends Named {
  readonly status: string
  readonly tool_count: number | null
}

export const httpServers = async (service: ServiceClient): Promise<HttpServerLine[]> =>
  ((await service.request('GET', '/api/http-servers')) as { items: HttpServerLine[] }).items
