import type { FactBus, Facts } from '../kernel/fact-bus.ts'
import type { LogEntry } from '../kernel/log.ts'
import { publicDetail } from '../kernel/secrets/public-command.ts'
import type { LogStore } from '../observe/logs/log-store.ts'
import { auditText, detailOf, isAboutServer } from './audit-sentences.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'

interface Deps {
  readonly database: ConfigurationDatabase
  readonly facts: FactBus
  readonly logs: Pick<LogStore, 'auditIds'>
  readonly write: (entry: LogEntry) => void
  /** Stores every line written so far. */
  readonly flush: () => Promise<void>
}

/**
 * Copies audit rows into the log. A row is committed with its change in the configuration database. Rows that the log
 * has lost are copied by `copyMissing`: at the start, and when the log was replaced.
 */
export class AuditMirror {
  readonly #deps: Deps
  #waiting: Facts['audited'][] | undefined
  #copying: Promise<void> = Promise.resolve()

  constructor(deps: Deps) {
    this.#deps = deps
    deps.facts.on('audited', (fact) => {
      if (this.#waiting) this.#waiting.push(fact)
      else deps.write(lineOf(fact))
    })
  }

  copyMissing(): Promise<void> {
    this.#copying = this.#copying.catch(() => {}).then(() => this.#copy())
    return this.#copying
  }

  /** Rows audited meanwhile are written after the copy, unless it included them. */
  async #copy(): Promise<void> {
    const { logs, write, flush } = this.#deps
    await flush()
    const waiting: Facts['audited'][] = []
    this.#waiting = waiting
    const done = new Set<number>()
    try {
      const { trimmed_to, stored } = await logs.auditIds()
      for (const id of stored) done.add(id)
      for (const fact of await this.#rowsAbove(trimmed_to, done)) {
        write(lineOf(fact))
        done.add(fact.audit_id)
      }
    } finally {
      this.#waiting = undefined
      for (const fact of waiting) if (!done.has(fact.audit_id)) write(lineOf(fact))
    }
  }

  async #rowsAbove(id: number, stored: ReadonlySet<number>): Promise<Facts['audited'][]> {
    const { db } = this.#deps.database
    const ids = await db.selectFrom('audit').select('id').where('id', '>', id).orderBy('id').execute()
    const facts: Facts['audited'][] = []
    for (const missing of ids.filter((row) => !stored.has(row.id))) {
      const row = await db
        .selectFrom('audit')
        .selectAll()
        .where('id', '=', missing.id)
        .executeTakeFirstOrThrow()
      const { id: audit_id, detail, ...rest } = row
      facts.push({ ...rest, audit_id, detail: detailOf(detail) })
    }
    return facts
  }
}

function lineOf({ audit_id, ts, action, subject, request_id, detail }: Facts['audited']): LogEntry {
  const message = auditText(action, subject)
  const server = isAboutServer(action) ? { server_id: subject } : {}
  const data = { audit_id, action, subject, ...publicDetail(detail) } // the log can be read without a token
  return { ts, level: 'info', source: 'audit', message, request_id, ...server, data }
}
