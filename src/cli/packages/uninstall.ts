import type { Run } from '../run/context.ts'
import { packagesNamed } from './packages.ts'

/** `toolroom uninstall PACKAGE` */
export const uninstallPackage: Run = async ({ api, given, confirm, during }) => {
  const [found] = await packagesNamed(api, [given.word('PACKAGE')])
  if (!found) return undefined
  const { id, name, version, used_by } = found
  const users =
    used_by.length === 0 ? '' : `, which ${used_by.join(', ')} run${used_by.length === 1 ? 's' : ''} from`
  if (given.is('dry-run'))
    return {
      json: { dry_run: true, id, name, version, used_by },
      lines: [`Would uninstall ${name} ${version}${users}`, 'Nothing was changed (--dry-run).'],
    }
  if (used_by.length === 0 || given.is('force')) await confirm(`Uninstall ${name} ${version}${users}?`)
  const query = given.is('force') ? { force: true } : {}
  await during(`Uninstalling ${name}`, api.delete('/api/packages/{id}', { path: { id }, query }))
  return { json: { id, name, version, uninstalled: true }, lines: [`Uninstalled ${name} ${version}`] }
}
