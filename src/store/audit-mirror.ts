import type { FactBus, Facts } from '../kernel/facts.ts'
import type { LogEntry } from '../kernel/log.ts'
import { publicDetail } from '../kernel/secrets/public-view.ts'
import type { LogStore } from '../logs/log-store.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'

/**
 * Copies audit rows into the log. A row is committed with its change in the configuration database; rows that a crash
 * kept out of the log are copied at the next start. Rows audited during that copy are written after it.
 */
export async function mirrorAudit(
  database: ConfigurationDatabase,
  facts: FactBus,
  logs: Pick<LogStore, 'lastAuditId'>,
  write: (entry: LogEntry) => void,
): Promise<void> {
  let waiting: Facts['audited'][] | undefined = []
  facts.on('audited', (fact) => {
    if (waiting) waiting.push(fact)
    else write(lineOf(fact))
  })
  let last = Number.NEGATIVE_INFINITY
  try {
    last = await logs.lastAuditId()
    const rows = database.db.selectFrom('audit').selectAll().where('id', '>', last).orderBy('id')
    for (const { id, detail, ...row } of await rows.execute()) {
      write(lineOf({ ...row, audit_id: id, detail: detailOf(detail) }))
      last = id
    }
  } finally {
    for (const fact of waiting) if (fact.audit_id > last) write(lineOf(fact))
    waiting = undefined
  }
}

/** A damaged row must not prevent the service from starting. */
function detailOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch {
    return { note: 'the details of this row cannot be read' }
  }
}

function lineOf({ audit_id, ts, action, subject, request_id, detail }: Facts['audited']): LogEntry {
  const message = `${action.replaceAll('_', ' ')}: ${subject}`
  const server = ABOUT_SERVERS.test(action) ? { server_id: subject } : {}
  const data = { audit_id, action, subject, ...publicDetail(detail) } // the log can be read without a token
  return { ts, level: 'info', source: 'audit', message, request_id, ...server, data }
}
const ABOUT_SERVERS = /^(?:server_|tools_changed$|tool_approved$)/
