import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Export } from './export.service.ts'
import type { Import } from './import.service.ts'
import * as schema from './transfer.schema.ts'

const tags = ['Export']
const MAX_BYTES = 10 * 1_048_576

export function transferRoutes(exportFile: Export, importFile: Import): FastifyPluginAsyncTypebox {
  return async (app) => {
    const exporting = {
      tags,
      summary: 'Export servers and what agents see',
      description:
        'One file with all servers, their settings, and the tools that each agent sees. Secrets are masked; with `include_secrets` they are added, encrypted with the passphrase in the header X-Export-Passphrase.',
      querystring: schema.ExportQuery,
      headers: schema.ExportHeaders,
      response: { 200: schema.ExportFile },
    }
    app.get('/export', { schema: exporting }, async (request, reply) => {
      const { include_secrets = false } = request.query
      const passphrase = request.headers[schema.PASSPHRASE_HEADER]
      const file = await exportFile(passphrase, include_secrets, { request_id: request.id })
      const day = file.exported_at.slice(0, 10)
      return reply.header('content-disposition', `attachment; filename="toolroom-${day}.json"`).send(file)
    })

    const importing = {
      tags,
      summary: 'Import an exported file',
      description:
        'Checks the whole file first: with an invalid entry or a wrong passphrase, nothing is imported. Starts no server and writes no file of an agent.',
      body: schema.ImportInput,
      response: { 200: schema.ImportReport },
    }
    const config = { errors: ['wrong_passphrase'] }
    app.post('/import', { schema: importing, bodyLimit: MAX_BYTES, config }, async (request) =>
      importFile(request.body, { request_id: request.id }),
    )
  }
}
