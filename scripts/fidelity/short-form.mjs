// The part of the comparison that the tests run: our own fixtures and a real server in `npm test`, with half of the
// combinations of clients and paths; in `npm run goals` all real servers that are development dependencies, with all of them.
import { ALLOWED } from './exceptions.mjs'
import { FIXTURES, INSTALLED } from './fixtures.mjs'
import { judge, sentence, stale } from './report.mjs'
import { loadSdks } from './sdk-clients.mjs'
import { compareServer, openBed } from './suite.mjs'

export const serversFor = (full) => [...FIXTURES, ...(full ? INSTALLED() : INSTALLED().slice(0, 1))]
export { loadSdks, openBed }

/** @returns the row of a server behind a running service, with its unexplained differences as sentences */
export async function rowOf(server, bed, sdks, full) {
  const row = judge(server, await compareServer(bed, server, sdks, !full))
  return { ...row, unexplained: row.unexplained.map(sentence) }
}

export const staleIn = (rows) => stale(rows).map(({ what }) => what)

/** The table in docs/gateway.md. */
export const allowedTable = () =>
  ['| Difference | Reason |', '|---|---|', ...ALLOWED.map(({ what, why }) => `| ${what} | ${why} |`)].join(
    '\n',
  )
