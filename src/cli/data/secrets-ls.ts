import type { Run } from '../run/context.ts'
import { clock } from '../run/units.ts'

/** `toolroom secrets ls` */
export const listSecrets: Run = async ({ api }) => {
  const list = await api.get('/api/secrets')
  if (list.items.length === 0)
    return { json: list, plain: [], lines: ['No named secrets.'], next: 'next: toolroom secrets set NAME' }
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
