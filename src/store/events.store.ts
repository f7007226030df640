import { sql } from 'kysely'
import type { EventSource, SourceEvent, SourceQuery } from '../observe/events/events.service.ts'
import type { StatusChange } from '../observe/events/status-recorder.ts'
import { aboutServers, auditSentence, detailOf, isAboutServer } from './audit-sentences.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'
import type { Tables } from './configuration/tables.ts'

/** How many changes are kept: of each server, so that a restless one does not displace the others, and in total. */
const MAX_PER_SERVER = 1000
const MAX_CHANGES = 20_000

/** The audit rows. */
export function auditEvents({ db }: ConfigurationDatabase): EventSource {
  const rows = (query: SourceQuery) => {
    const chosen = db.selectFrom('audit').where(chosenBy(query))
    const { server_ids } = query
    return server_ids ? chosen.where('subject', 'in', [...server_ids]).where(aboutServers) : chosen
  }
  return {
    page: async (query) => {
      const newest = rows(query).selectAll().orderBy('ts', 'desc').orderBy('id', 'desc')
      return (await newest.limit(query.limit).execute()).map(auditEvent)
    },
    count: async (query) => (await rows(query).select('id').limit(query.limit).execute()).length,
  }
}

/** The states of servers. */
export function statusEvents({ db }: ConfigurationDatabase): EventSource {
  const rows = (query: SourceQuery) => {
    const chosen = db.selectFrom('status_changes').where(chosenBy(query))
    const { server_ids } = query
    return server_ids ? chosen.where('server_id', 'in', [...server_ids]) : chosen
  }
  return {
    page: async (query) => {
      const newest = rows(query).selectAll().orderBy('ts', 'desc').orderBy('id', 'desc')
      return (await newest.limit(query.limit).execute()).map(statusEvent)
    },
    count: async (query) => (await rows(query).select('id').limit(query.limit).execute()).length,
  }
}

/** Adds changes, and deletes the oldest beyond the limits. */
export function saveStatusChanges(
  database: ConfigurationDatabase,
  changes: readonly StatusChange[],
): Promise<void> {
  return database.change(async (trx) => {
    await trx.insertInto('status_changes').values(changes).execute()
    for (const id of new Set(changes.map(({ server_id }) => server_id)))
      await sql`delete from status_changes where server_id = ${id} and id <= (
        select id from status_changes where server_id = ${id} order by id desc limit 1 offset ${MAX_PER_SERVER})`.execute(
        trx,
      )
    await sql`delete from status_changes where id <= (
      select id from status_changes order by id desc limit 1 offset ${MAX_CHANGES})`.execute(trx)
    return [undefined, null]
  })
}

const END = Number.MAX_SAFE_INTEGER

const chosenBy = ({ since = 0, until = END, before = { ts: END, id: END } }: SourceQuery) =>
  sql<boolean>`ts >= ${since} and ts <= ${until} and (ts, id) < (${before.ts}, ${before.id})`

function auditEvent({ id, ts, action, subject, request_id, detail }: Row<'audit'>): SourceEvent {
  const known = detailOf(detail)
  return {
    id,
    ts,
    server_id: isAboutServer(action) ? subject : null,
    agent_type: action.startsWith('agent_') ? subject : null,
    text: auditSentence(action, subject, known),
    data: { action, subject, request_id, detail: known },
  }
}

function statusEvent({ id, ts, server_id, status, cause }: Row<'status_changes'>): SourceEvent {
  const text = `'${server_id}' ${WORDS[status] ?? `is ${status}`}: ${cause}`
  return { id, ts, server_id, agent_type: null, text, data: { status, cause } }
}

const WORDS: Readonly<Record<string, string>> = {
  idle: 'is asleep',
  backoff: 'is waiting to retry',
  failed: 'has failed',
  auth_required: 'requires a login',
  error: 'does not answer as an MCP server',
}

/** As it is read: the id is set. */
type Row<T extends 'audit' | 'status_changes'> = Omit<Tables[T], 'id'> & { readonly id: number }
