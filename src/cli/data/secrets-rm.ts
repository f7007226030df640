import type { Run } from '../run/context.ts'
import { findNamed } from '../run/find-named.ts'

/** `toolroom secrets rm NAME`: the whole name, because a deleted value cannot be read again. */
export const removeSecret: Run = async ({ api, given, confirm }) => {
  const { items } = await api.get('/api/secrets')
  const secrets = items.map((secret) => ({ ...secret, id: secret.name }))
  const exact = secrets.filter(({ name }) => name === given.word('NAME'))
  const { name, used_by } = findNamed(exact, given.word('NAME'), 'secret')
  const users =
    used_by.length === 0 ? '' : `, which ${used_by.join(', ')} use${used_by.length === 1 ? 's' : ''}`
  if (given.is('dry-run'))
    return {
      json: { dry_run: true, name, used_by },
      lines: [`Would delete ${name}${users}`, 'Nothing was changed (--dry-run).'],
    }
  await confirm(`Delete ${name}${users}?`)
  await api.delete('/api/secrets/{name}', { path: { name } })
  return { json: { name, deleted: true }, lines: [`Deleted ${name}${users}`] }
}
