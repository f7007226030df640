import type { AuditEntry } from '../kernel/fact-bus.ts'
import type { Mutes, Notice } from '../observe/notices/notices.schema.ts'
import type { NoticeStore } from '../observe/notices/notices.service.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'
import { digestOf } from './configuration/tables.ts'

const MUTES = 'notice_mutes'

/** Notices and what is muted. Read once at the start. A damaged row is skipped. */
export async function openNoticeStore(database: ConfigurationDatabase): Promise<NoticeStore> {
  const { db } = database
  const row = await db.selectFrom('meta').select('value').where('key', '=', MUTES).executeTakeFirst()
  let mutes = mutesIn(row?.value)
  return {
    async all() {
      const rows = await db.selectFrom('notices').selectAll().execute()
      return rows
        .filter(({ body, digest }) => digestOf(body) === digest)
        .map(({ body }) => JSON.parse(body) as Notice)
    },

    save: (changed, forgotten) =>
      database.change(async (trx) => {
        for (const notice of changed) {
          const body = JSON.stringify(notice)
          await trx
            .replaceInto('notices')
            .values({ id: notice.id, body, digest: digestOf(body) })
            .execute()
        }
        for (const id of forgotten) await trx.deleteFrom('notices').where('id', '=', id).execute()
        return [undefined, null]
      }),

    mutes: () => mutes,

    setMutes: (next: Mutes, audit: AuditEntry) =>
      database.put('meta', { key: MUTES, value: JSON.stringify(next) }, audit, {
        committed: () => {
          mutes = next
        },
      }),
  }
}

/** A damaged value mutes nothing. */
function mutesIn(text = '{}'): Mutes {
  try {
    const { kinds = [], servers = [] } = JSON.parse(text)
    return { kinds: [...kinds], servers: [...servers] }
  } catch {
    return { kinds: [], servers: [] }
  }
}
