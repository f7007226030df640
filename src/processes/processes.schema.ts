import type { Static } from 'typebox'
import * as Type from 'typebox'
import { listOf, Timestamp } from '../kernel/wire.ts'

const OrphanId = Type.String({
  description: 'The pid and the start time: names one process for ever',
  examples: ['48213-1903344'],
})

/** What cannot be an id is simply not there, so anything is let through. */
export const OrphanKey = Type.Object({ id: OrphanId })

export const OrphanView = Type.Object({
  id: OrphanId,
  pid: Type.Integer({ minimum: 1, examples: [48213] }),
  command: Type.String({
    description: 'As it was started, secrets masked, at most 500 characters',
    examples: ['npm exec @modelcontextprotocol/server-memory'],
  }),
  owner: Type.String({ description: 'The user it runs as', examples: ['anna'] }),
  started_at: Timestamp,
  age_s: Type.Integer({ minimum: 0, examples: [86_400] }),
  rss_bytes: Type.Integer({
    minimum: 0,
    description: 'Memory of it and everything it started',
    examples: [94_371_840],
  }),
  processes: Type.Integer({ minimum: 1, description: 'It and everything it started', examples: [2] }),
})
export type OrphanView = Static<typeof OrphanView>
export const OrphanList = listOf(OrphanView)
