import { sql } from 'kysely'

/** Actions whose subject is a server, besides `server_…`. */
const SERVER_ACTIONS = [
  ...['tools', 'prompts', 'instructions'].flatMap((list) => [`${list}_changed`, `${list}_held`]),
  ...['tool', 'prompt', 'instructions'].map((kind) => `${kind}_approved`),
]

export const isAboutServer = (action: string): boolean =>
  action.startsWith('server_') || SERVER_ACTIONS.includes(action)

/** The same as a condition on the column `action`. */
export const aboutServers = sql<boolean>`(action glob 'server_*' or action in (${sql.join(SERVER_ACTIONS)}))`

/** What was done, for a log line. Events have sentences. */
export const auditText = (action: string, subject: string): string =>
  `${action.replaceAll('_', ' ')}: ${subject}`

/** A damaged row must not prevent the service from starting. */
export function detailOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch {
    return { note: 'the details of this row cannot be read' }
  }
}
