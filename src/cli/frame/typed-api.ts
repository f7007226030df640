import type { components, paths } from '../../../web/generated/api.d.ts'
import { type Client, clientOver } from '../../api/client/client.ts'
import type { ServiceClient } from './service-client.ts'

export type Api = Client<paths>
export type Schemas = components['schemas']

/** Reads are answered at once. */
const READ_MS = 15_000
/** Starts, installations and calls have limits of their own in the service. */
const WORK_MS = 15 * 60_000

/** The REST API over this connection, typed by the OpenAPI document. */
export const typedApi = (service: ServiceClient): Api =>
  clientOver((method, path, body) =>
    service.request(method, path, body, method === 'GET' ? READ_MS : WORK_MS),
  )
