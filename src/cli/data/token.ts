import { dryRun, type Run } from '../run/command-context.ts'
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

/** `toolroom token rotate` */
export const rotateToken: Run = async ({ api, given, confirm }) => {
  if (given.is('dry-run')) {
    await api.get('/api/settings') // refuses a wrong token, as the rotation would
    return dryRun({}, ['Would replace the token. Browsers and scripts with the old one lose access.'])
  }
  await confirm('Replace the token? Browsers and scripts with the old one lose access.')
  const { token } = await api.post('/api/token/rotate')
  return { json: { token }, lines: [token], next: 'Sign in again with: toolroom open' }
}
