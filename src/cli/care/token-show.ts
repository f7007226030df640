import type { Run } from '../frame/context.ts'
import { Failure } from '../frame/failure.ts'
import { tokenOf } from '../frame/service-client.ts'

/** `toolroom token show` */
export const run: Run = async ({ config }) => {
  const token = tokenOf(config)
  if (token === undefined)
    throw new Failure(
      'not_found',
      'There is no token in the data folder',
      'It is generated when the service first starts',
    )
  return { json: { token }, lines: [token] }
}
