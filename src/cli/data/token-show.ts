import type { Run } from '../run/context.ts'
import { Failure } from '../run/failure.ts'
import { tokenOf } from '../run/service-client.ts'

/** `toolroom token show` */
export const showToken: Run = async ({ config }) => {
  const token = tokenOf(config)
  if (token === undefined)
    throw new Failure(
      'not_found',
      'There is no token in the data folder',
      'It is generated when the service first starts',
    )
  return { json: { token }, lines: [token] }
}
