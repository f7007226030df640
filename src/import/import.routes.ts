import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as agentSchema from './read/agent-file/import.schema.ts'
import type { AgentImport } from './read/agent-file/import-servers.ts'
import { ImportInput, ImportReport } from './snippet-import.schema.ts'
import type { Importer } from './snippet-import.service.ts'

/** The import of pasted snippets. */
export function snippetImportRoutes(importer: Importer): FastifyPluginAsyncTypebox {
  return async (app) => {
    const importing = {
      tags: ['STDIO servers'],
      summary: 'Import servers from a pasted snippet',
      description:
        'Reads `mcpServers`, `servers` and TOML snippets as READMEs show them. Does not start any server.',
      body: ImportInput,
      response: { 200: ImportReport },
    }
    app.post('/servers/import', { schema: importing }, async (request) =>
      importer.run(request.body, { request_id: request.id }),
    )
  }
}

/** The import of agents' files. */
export function agentImportRoutes(importer: AgentImport): FastifyPluginAsyncTypebox {
  return async (app) => {
    const scan = {
      tags: ['Agents'],
      summary: 'Count agents, entries and distinct servers on this computer',
      description: 'Reads the files of all agents and changes nothing.',
      response: { 200: agentSchema.Scan },
    }
    app.get('/agents/scan', { schema: scan }, () => importer.scan())

    const importServers = {
      tags: ['Agents'],
      summary: "Register servers from agents' files",
      description:
        'Reads the files of the user and of the projects that the agents list. A server that several agents use is registered once, and references are translated. Nothing is started, and no file is changed.',
      body: agentSchema.ImportInput,
      response: { 200: agentSchema.ImportReport },
    }
    app.post('/agents/import', { schema: importServers }, (request) =>
      importer.run(request.body, { request_id: request.id }),
    )
  }
}
