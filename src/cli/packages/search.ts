import { type Run, rowWith } from '../run/command-context.ts'

/** `toolroom search WORD...` */
export const searchPackages: Run = async ({ api, given, during }) => {
  const query = given.words('WORD').join(' ')
  const source = given.flag('registry') === 'mcp' ? ('mcp_registry' as const) : ('npm' as const)
  const body = { query, source, ...(given.is('mcp-only') && { mcp_only: true }) }
  const found = await during('Searching', api.post('/api/packages/search', { body }))
  const hint = found.search_available ? [] : ['This registry offers no search: only exact names are found.']
  if (found.items.length === 0) return { json: found, plain: [], lines: ['Nothing was found.', ...hint] }
  return {
    json: found,
    table: {
      head: ['NAME', 'VERSION', 'WEEKLY', 'INSTALLED', 'DESCRIPTION'],
      rows: found.items.map((item) => [
        ...rowWith(item, 'name', 'version', 'downloads_weekly', 'installed'),
        item.description ?? '',
      ]),
    },
    lines: hint,
    next: source === 'npm' ? `next: toolroom install ${found.items[0]?.name} --add` : undefined,
  }
}
