import type { Run } from '../run/context.ts'
import { readSecret } from '../run/stdin.ts'

/** `toolroom secrets set NAME` */
export const setSecret: Run = async ({ api, given }) => {
  const name = given.word('NAME')
  const before = (await api.get('/api/secrets')).items.find((secret) => secret.name === name)
  if (given.is('dry-run'))
    return {
      json: { dry_run: true, name, exists: before !== undefined },
      lines: [`Would ${before ? 'replace' : 'store'} ${name}`, 'Nothing was changed (--dry-run).'],
    }
  const value = await readSecret(`Value of ${name}`)
  const stored = await api.put('/api/secrets/{name}', { path: { name }, body: { value } })
  return {
    json: stored,
    lines: [`${before ? 'Replaced' : 'Stored'} ${name}`],
    next:
      before && before.used_by.length > 0
        ? `next: toolroom restart ${before.used_by.join(' ')}`
        : `Use it as \${secret:${name}} in a server`,
  }
}
