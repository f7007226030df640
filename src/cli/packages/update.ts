import type { Context, Run } from '../run/context.ts'
import { Failure, usage } from '../run/failure.ts'
import { type Line, toned } from '../run/line.ts'
import type { Schemas } from '../run/service-client.ts'
import { followJob } from './follow-job.ts'
import { type Package, packagesNamed } from './packages.ts'

type Updated = Schemas['UpdatedPackage']
type Item = { name: string; from: string; updated: Updated | null; problem: string | null }

/** `toolroom update PACKAGE...|--all` */
export const updatePackages: Run = async (context) => {
  const { given } = context
  const chosen = await chosenPackages(context)
  if (given.is('dry-run'))
    return {
      json: {
        dry_run: true,
        items: chosen.map(({ id, name, version, latest }) => ({ id, name, version, latest })),
      },
      lines: [
        ...chosen.map(
          ({ name, version, latest }) => `Would update ${name} from ${version} to ${latest ?? 'latest'}`,
        ),
        'Nothing was changed (--dry-run).',
      ],
    }
  const items: Item[] = []
  for (const one of chosen) items.push(await updated(context, one))
  const failed = items.filter(({ problem }) => problem !== null).length
  return {
    json: { items },
    lines: items.length === 0 ? ['All packages are up to date.'] : items.map(lineOf),
    plain: items.map(({ name, from, updated, problem }) => [name, from, updated?.version, problem]),
    exit: failed === 0 ? undefined : failed === items.length ? 'failed' : 'partly_done',
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
    const result =
      'job' in started ? await followJob<Updated>(context, started.job, `Updating ${name}`) : started
    return { name, from: version, updated: result, problem: null }
  } catch (error) {
    if (!(error instanceof Failure) || context.given.words('PACKAGE').length === 1) throw error
    return { name, from: version, updated: null, problem: error.message }
  }
}

function lineOf({ name, from, updated, problem }: Item): Line {
  if (!updated) return [toned('err', '✕ '), `${name}  ${problem ?? 'failed'}`]
  if (updated.version === from) return [toned('ok', '✓ '), `${name} ${from} is the newest version`]
  const { added, removed, changed } = updated.tools
  const tools = [
    added.length > 0 ? `new: ${added.join(', ')}` : '',
    removed.length > 0 ? `gone: ${removed.join(', ')}` : '',
    changed.length > 0 ? `changed: ${changed.join(', ')}` : '',
  ].filter((text) => text !== '')
  return [
    toned('ok', '✓ '),
    `${name} ${from} → ${updated.version}${tools.length === 0 ? '' : `. Tools ${tools.join('; ')}`}`,
  ]
}
