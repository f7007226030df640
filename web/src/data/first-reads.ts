import { agentsQuery } from './agents.ts'
import { noticesQuery } from './notices.ts'
import { packagesQuery } from './packages.ts'
import { queryClient } from './query-client.ts'
import { httpQuery, stdioQuery } from './servers.ts'

/** Longer than these reads take on this computer. */
const SOON_MS = 300

/**
 * Reads what every page shows, while the live stream connects. Resolves when it is there, or does not come soon: a page
 * that is drawn then is drawn with its data, and not first without.
 */
export function readFirst(): Promise<unknown> {
  const soon = new Promise((resolve) => setTimeout(resolve, SOON_MS))
  const reads = [
    queryClient.prefetchQuery(stdioQuery),
    queryClient.prefetchQuery(httpQuery),
    queryClient.prefetchQuery(noticesQuery),
    queryClient.prefetchQuery(agentsQuery),
    queryClient.prefetchQuery(packagesQuery),
  ]
  return Promise.race([soon, Promise.all(reads)])
}
