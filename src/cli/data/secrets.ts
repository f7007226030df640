import { dryRun, emptyList, type Run } from '../run/command-context.ts'
import { findNamed } from '../run/find-named.ts'
import { clock } from '../run/human-readable.ts'
import { readSecret } from '../run/stdin.ts'

/** `toolroom secrets ls` */
export const listSecrets: Run = async ({ api }) => {
  const list = await api.get('/api/secrets')
  if (list.items.length === 0) return emptyList(list, 'No named secrets.', 'next: toolroom secrets set NAME')
  return {
    json: list,
    table: {
      head: ['NAME', 'CHANGED', 'USED BY'],
      rows: list.items.map(({ name, updated_at, used_by }) => [
        name,
        clock(updated_at),
        used_by.length === 0 ? null : used_by.join(' '),
      ]),
    },
    plain: list.items.map(({ name, updated_at, used_by }) => [name, updated_at, used_by.join(' ')]),
  }
}

/** `toolroom secrets set NAME` */
export const setSecret: Run = async ({ api, given }) => {
  const name = given.word('NAME')
  const before = (await api.get('/api/secrets')).items.find((secret) => secret.name === name)
  if (given.is('dry-run'))
    return dryRun({ name, exists: before !== undefined }, [`Would ${before ? 'replace' : 'store'} ${name}`])
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

/** `toolroom secrets rm NAME`: the whole name, because a deleted value cannot be read again. */
export const removeSecret: Run = async ({ api, given, confirm }) => {
  const { items } = await api.get('/api/secrets')
  const secrets = items.map((secret) => ({ ...secret, id: secret.name }))
  const exact = secrets.filter(({ name }) => name === given.word('NAME'))
  const { name, used_by } = findNamed(exact, given.word('NAME'), 'secret')
  const users =
    used_by.length === 0 ? '' : `, which ${used_by.join(', ')} use${used_by.length === 1 ? 's' : ''}`
  if (given.is('dry-run')) return dryRun({ name, used_by }, [`Would delete ${name}${users}`])
  await confirm(`Delete ${name}${users}?`)
  await api.delete('/api/secrets/{name}', { path: { name } })
  return { json: { name, deleted: true }, lines: [`Deleted ${name}${users}`] }
}
