import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { wholeList } from '../../kernel/wire.ts'
import type { Agents } from '../agents.service.ts'
import * as schema from './restore.schema.ts'

const tags = ['Agents']

export function restoreRoutes(agents: Agents): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = {
      tags,
      summary: "List the backups of agents' files, newest first",
      description:
        'Each has the content from before one change. The last 20 of each file are kept, and the first one for ever.',
      response: { 200: schema.BackupList },
    }
    app.get('/backups', { schema: list }, async () => wholeList(agents.backups()))

    const restore = {
      tags,
      summary: "Take everything of Toolroom out of agents' files",
      description:
        'Entries that Toolroom wrote leave, and parked ones return. A file to which no other program has written gets the exact bytes from before the first change; in any other file only these entries change. `diff` shows what happens, and each change can be undone.',
      body: schema.RestoreInput,
      response: { 200: schema.RestoreReport },
    }
    app.post('/backups/restore', { schema: restore, config: { errors: ['disk_full'] } }, (request) =>
      agents.restore(request.body ?? {}, { request_id: request.id }),
    )
  }
}
