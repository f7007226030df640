import type { Run } from '../run/context.ts'
import { findNamed } from '../run/find-named.ts'

/** `toolroom presets rm PRESET` */
export const removePreset: Run = async ({ api, given, confirm }) => {
  const { items } = await api.get('/api/presets')
  const named = items.map(({ name }) => ({ id: name, name }))
  const { name } = findNamed(named, given.word('PRESET'), 'preset')
  if (given.is('dry-run'))
    return {
      json: { dry_run: true, name },
      lines: [`Would delete the preset ${name}. Nothing was changed (--dry-run).`],
    }
  await confirm(`Delete the preset ${name}?`)
  await api.delete('/api/presets/{name}', { path: { name } })
  return { json: { name, removed: true }, lines: [`Deleted the preset ${name}.`] }
}
