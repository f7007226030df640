import * as Type from 'typebox'
import { AppError } from '../../kernel/errors.ts'
import type { AuditEntry } from '../../kernel/fact-bus.ts'
import type { Orphan, OrphanEnd } from '../../kernel/orphan-process.ts'
import { type Caller, component, listOf, Timestamp } from '../../kernel/rest-parts.ts'
import { integer, text } from '../../kernel/schema-fields.ts'
import { isoTime } from '../../kernel/time.ts'

/** `supervisor/` finds and ends processes; `compose/rest.ts` connects it. */
export interface Deps {
  readonly find: () => Promise<Orphan[]>
  readonly end: (id: string) => Promise<OrphanEnd>
  readonly audit: (entry: AuditEntry) => Promise<void>
  readonly now: () => number
}

export function createProcesses({ find, end, audit, now }: Deps) {
  return {
    orphans: async (): Promise<OrphanView[]> => (await find()).map((orphan) => viewOf(orphan, now())),

    async endOrphan(id: string, by: Caller): Promise<void> {
      const ending = await end(id)
      if (ending.outcome === 'gone') throw notFound(id)
      const { pid, command, owner } = ending.orphan
      if (ending.outcome === 'not_permitted') throw notPermitted(ending.orphan)
      await audit({ action: 'orphan_ended', subject: String(pid), ...by, detail: { command, owner } })
    },
  }
}
export type Processes = ReturnType<typeof createProcesses>

/** The start time is rounded to seconds, because it is computed from two clocks. */
function viewOf(orphan: Orphan, now: number): OrphanView {
  const startedAt = Math.round(now / 1000 - orphan.age_s) * 1000
  return { ...orphan, started_at: isoTime(startedAt) }
}

function notFound(id: string): AppError {
  return new AppError('not_found', `No leaked process has the id '${id.slice(0, 100)}'`, {
    hint: 'The process has ended, or its pid belongs to another process now',
  })
}

function notPermitted({ pid, owner }: Orphan): AppError {
  return new AppError('not_permitted', `Toolroom cannot end the process ${pid} of the user '${owner}'`, {
    hint: `Run as that user: ${process.platform === 'win32' ? 'taskkill /F /T /PID' : 'kill'} ${pid}`,
  })
}

const OrphanId = text('The pid and the start time, which identify one process permanently', {
  examples: ['48213-1903344'],
})

/** Accepts any string: an invalid id is answered with 404. */
export const OrphanKey = Type.Object({ id: OrphanId })

export const OrphanView = Type.Object({
  id: OrphanId,
  pid: Type.Integer({ minimum: 1, examples: [48213] }),
  command: text('The command line, secrets masked, at most 500 characters', {
    examples: ['npm exec @modelcontextprotocol/server-memory'],
  }),
  owner: text('The user it runs as', { examples: ['anna'] }),
  started_at: Timestamp,
  age_s: Type.Integer({ minimum: 0, examples: [86_400] }),
  rss_bytes: integer('Memory of the process and its descendants', { minimum: 0, examples: [94_371_840] }),
  processes: integer('The process and its descendants', { minimum: 1, examples: [2] }),
})
export type OrphanView = Type.Static<typeof OrphanView>
component({ LeakedProcess: OrphanView }, 'A process whose agent has ended')
export const OrphanList = listOf(OrphanView)
