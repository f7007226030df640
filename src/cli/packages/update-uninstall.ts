import { type Context, dryRun, emptyList, exitOf, type Run } from '../run/command-context.ts'
import { Failure, usage } from '../run/failure.ts'
import { findNamed } from '../run/find-named.ts'
import { followJob } from '../run/follow-job.ts'
import { type Line, type Span, signed, toned } from '../run/printed-line.ts'
import type { Api, Schemas } from '../run/service-client.ts'

type Package = Schemas['Package']
type Updated = Schemas['UpdatedPackage']
type Item = { name: string; from: string; updated: Updated | null; problem: string | null }

/** `toolroom outdated` */
export const listOutdated: Run = async ({ api, during }) => {
  const list = await during('Asking the registry', api.post('/api/packages/refresh'))
  const rows = list.items.filter(
    ({ update_available, deprecated, error }) => update_available || deprecated !== null || error !== null,
  )
  const [first] = rows.filter(({ update_available }) => update_available)
  if (rows.length === 0)
    return emptyList(
      list,
      list.items.length === 0 ? 'No packages are installed.' : 'All packages are up to date.',
    )
  return {
    json: list,
    table: {
      head: ['PACKAGE', 'INSTALLED', 'LATEST', 'NOTE'],
      rows: rows.map(({ name, version, latest, deprecated, error }): Span[] => [
        name,
        version,
        latest,
        error !== null
          ? toned('err', error)
          : deprecated !== null
            ? toned('warn', `deprecated: ${deprecated}`)
            : '',
      ]),
    },
    next: first && `next: toolroom update ${first.name}`,
  }
}

/** `toolroom update PACKAGE...|--all` */
export const updatePackages: Run = async (context) => {
  const { given } = context
  const chosen = await chosenPackages(context)
  if (given.is('dry-run'))
    return dryRun(
      { items: chosen.map(({ id, name, version, latest }) => ({ id, name, version, latest })) },
      chosen.map(
        ({ name, version, latest }) => `Would update ${name} from ${version} to ${latest ?? 'latest'}`,
      ),
    )
  const items: Item[] = []
  for (const one of chosen) items.push(await updated(context, one))
  const failed = items.filter(({ problem }) => problem !== null).length
  return {
    json: { items },
    lines: items.length === 0 ? ['All packages are up to date.'] : items.map(updatedLine),
    plain: items.map(({ name, from, updated, problem }) => [name, from, updated?.version, problem]),
    exit: exitOf(failed, items.length),
  }
}

async function chosenPackages({ api, given, during }: Context): Promise<Package[]> {
  const names = given.words('PACKAGE')
  if ((names.length === 0) === !given.is('all'))
    throw usage('Name a package, or give --all', 'See toolroom outdated')
  if (names.length > 0) return packagesNamed(api, names)
  const fresh = await during('Asking the registry', api.post('/api/packages/refresh'))
  const ids = new Set(fresh.items.flatMap(({ id, update_available }) => (update_available ? [id] : [])))
  return (await api.get('/api/packages')).items.filter(({ id }) => ids.has(id))
}

/** With one package, a failure is that of the command. */
async function updated(context: Context, { id, name, version }: Package): Promise<Item> {
  try {
    const started = await context.api.post('/api/packages/{id}/update', {
      path: { id },
      query: { async: true },
      body: {},
    })
    const result = await followJob<Updated>(context, started, `Updating ${name}`)
    return { name, from: version, updated: result, problem: null }
  } catch (error) {
    if (!(error instanceof Failure) || context.given.words('PACKAGE').length === 1) throw error
    return { name, from: version, updated: null, problem: error.message }
  }
}

function updatedLine({ name, from, updated, problem }: Item): Line {
  if (!updated) return signed('err', `${name}  ${problem ?? 'failed'}`)
  if (updated.version === from) return signed('ok', `${name} ${from} is the newest version`)
  const { added, removed, changed } = updated.tools
  const tools = Object.entries({ new: added, gone: removed, changed }).flatMap(([word, names]) =>
    names.length > 0 ? [`${word}: ${names.join(', ')}`] : [],
  )
  const shown = tools.length === 0 ? '' : `. Tools ${tools.join('; ')}`
  return signed('ok', `${name} ${from} → ${updated.version}${shown}`)
}

/** `toolroom uninstall PACKAGE` */
export const uninstallPackage: Run = async ({ api, given, confirm, during }) => {
  const [found] = await packagesNamed(api, [given.word('PACKAGE')])
  if (!found) return undefined
  const { id, name, version, used_by } = found
  const users =
    used_by.length === 0 ? '' : `, which ${used_by.join(', ')} run${used_by.length === 1 ? 's' : ''} from`
  if (given.is('dry-run'))
    return dryRun({ id, name, version, used_by }, [`Would uninstall ${name} ${version}${users}`])
  if (used_by.length === 0 || given.is('force')) await confirm(`Uninstall ${name} ${version}${users}?`)
  const query = given.is('force') ? { force: true } : {}
  await during(`Uninstalling ${name}`, api.delete('/api/packages/{id}', { path: { id }, query }))
  return { json: { id, name, version, uninstalled: true }, lines: [`Uninstalled ${name} ${version}`] }
}

/** The installed packages with these names or ids. */
async function packagesNamed(api: Api, names: readonly string[]): Promise<Package[]> {
  const { items } = await api.get('/api/packages')
  return names.map((name) => findNamed(items, name, 'installed package'))
}
