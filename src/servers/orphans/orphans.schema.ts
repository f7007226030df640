import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, listOf, Timestamp } from '../../kernel/wire.ts'

const OrphanId = Type.String({
  description: 'The pid and the start time, which identify one process permanently',
  examples: ['48213-1903344'],
})

/** Accepts any string: an invalid id is answered with 404. */
export const OrphanKey = Type.Object({ id: OrphanId })

export const OrphanView = Type.Object({
  id: OrphanId,
  pid: Type.Integer({ minimum: 1, examples: [48213] }),
  command: Type.String({
    description: 'The command line, secrets masked, at most 500 characters',
    examples: ['npm exec @modelcontextprotocol/server-memory'],
  }),
  owner: Type.String({ description: 'The user it runs as', examples: ['anna'] }),
  started_at: Timestamp,
  age_s: Type.Integer({ minimum: 0, examples: [86_400] }),
  rss_bytes: Type.Integer({
    minimum: 0,
    description: 'Memory of the process and its descendants',
    examples: [94_371_840],
  }),
  processes: Type.Integer({ minimum: 1, description: 'The process and its descendants', examples: [2] }),
})
export type OrphanView = Static<typeof OrphanView>
component({ LeakedProcess: OrphanView }, 'A process whose agent has ended')
export const OrphanList = listOf(OrphanView)
