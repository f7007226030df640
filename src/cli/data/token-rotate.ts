import type { Run } from '../run/context.ts'

/** `toolroom token rotate` */
export const rotateToken: Run = async ({ api, given, confirm }) => {
  if (given.is('dry-run')) {
    await api.get('/api/settings') // refuses a wrong token, as the rotation would
    return {
      json: { dry_run: true },
      lines: [
        'Would replace the token. Browsers and scripts with the old one lose access.',
        'Nothing was changed (--dry-run).',
      ],
    }
  }
  await confirm('Replace the token? Browsers and scripts with the old one lose access.')
  const { token } = await api.post('/api/token/rotate')
  return { json: { token }, lines: [token], next: 'Sign in again with: toolroom open' }
}
