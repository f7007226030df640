import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, operationsOf } from '../kernel/rest-parts.ts'
import type { AgentImport } from './agent-import.ts'
import type { FileExport } from './file-export.ts'
import * as fileSchema from './file-import.schema.ts'
import type { FileImport } from './file-import.ts'
import * as schema from './import.schema.ts'
import * as file from './read/export-file/export-file.schema.ts'
import type { SnippetImport } from './snippet-import.ts'

const MAX_BYTES = 10 * 1_048_576

/** The import of pasted snippets. */
export function snippetImportRoutes(snippets: SnippetImport): FastifyPluginAsyncTypebox {
  return async (app) => {
    const importing = operationsOf('STDIO servers')(
      'Import servers from a pasted snippet',
      'Reads `mcpServers`, `servers` and TOML snippets as READMEs show them. Does not start any server.',
      { body: schema.SnippetInput, response: { 200: schema.SnippetReport } },
    )
    app.post('/servers/import', importing, async (request) => snippets.run(request.body, callerOf(request)))
  }
}

/** The import of agents' files. */
export function agentImportRoutes(agents: AgentImport): FastifyPluginAsyncTypebox {
  const operation = operationsOf('Agents')
  return async (app) => {
    const scan = operation(
      'Count agents, entries and distinct servers on this computer',
      'Reads the files of all agents and changes nothing.',
      { response: { 200: schema.AgentScan } },
    )
    app.get('/agents/scan', scan, () => agents.scan())

    const importServers = operation(
      "Register servers from agents' files",
      'Reads the files of the user and of the projects that the agents list. A server that several agents use is registered once, and references are translated. Nothing is started, and no file is changed.',
      { body: schema.AgentImportInput, response: { 200: schema.AgentImportReport } },
    )
    app.post('/agents/import', importServers, (request) => agents.run(request.body, callerOf(request)))

    const tryEntry = operation(
      "Try out an entry of an agent's file",
      'Starts its server once, or connects to it once, with the values of the entry. It need not be registered. Nothing is stored; `last_try` of a server that is added with exactly these values, and its tools, come from it. The status is 200 even when it did not start; `error` has the reason.',
      {
        body: schema.EntryTrialInput,
        response: { 200: schema.EntryTrial },
        errors: ['not_found', 'config_changed', 'entry_not_approved'],
      },
    )
    app.post('/agents/import/trial', tryEntry, (request) => agents.tryEntry(request.body))
  }
}

/** The export of everything to one file, and its import. */
export function exportFileRoutes(exportFile: FileExport, files: FileImport): FastifyPluginAsyncTypebox {
  const operation = operationsOf('Export')
  return async (app) => {
    const exporting = operation(
      'Export servers and what agents see',
      'One file with all servers, their settings, and the tools that each agent sees. Secrets are masked; with `include_secrets` they are added, encrypted with the passphrase in the header X-Export-Passphrase.',
      { querystring: file.ExportQuery, headers: file.ExportHeaders, response: { 200: file.ExportFile } },
    )
    app.get('/export', exporting, async (request, reply) => {
      const { include_secrets = false } = request.query
      const passphrase = request.headers[file.PASSPHRASE_HEADER]
      const exported = await exportFile(passphrase, include_secrets, callerOf(request))
      const day = exported.exported_at.slice(0, 10)
      return reply.header('content-disposition', `attachment; filename="toolroom-${day}.json"`).send(exported)
    })

    const importing = operation(
      'Import an exported file',
      'Checks the whole file first: with an invalid entry or a wrong passphrase, nothing is imported. Starts no server and writes no file of an agent.',
      {
        body: fileSchema.FileImportInput,
        response: { 200: fileSchema.FileImportReport },
        errors: ['wrong_passphrase'],
      },
    )
    app.post('/import', { ...importing, bodyLimit: MAX_BYTES }, async (request) =>
      files.run(request.body, callerOf(request)),
    )
  }
}
