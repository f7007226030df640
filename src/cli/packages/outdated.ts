import type { Run } from '../run/context.ts'
import { type Span, toned } from '../run/line.ts'

/** `toolroom outdated` */
export const listOutdated: Run = async ({ api, during }) => {
  const list = await during('Asking the registry', api.post('/api/packages/refresh'))
  const rows = list.items.filter(
    ({ update_available, deprecated, error }) => update_available || deprecated !== null || error !== null,
  )
  const [first] = rows.filter(({ update_available }) => update_available)
  if (rows.length === 0)
    return {
      json: list,
      plain: [],
      lines: [list.items.length === 0 ? 'No packages are installed.' : 'All packages are up to date.'],
    }
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
