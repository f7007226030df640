import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, operationsOf } from '../../kernel/rest-parts.ts'
import { text } from '../../kernel/schema-fields.ts'
import { isoTime } from '../../kernel/time.ts'
import * as schema from './logs.schema.ts'
import type { Logs } from './logs.service.ts'

const operation = operationsOf('Logs')
const FILES: Record<schema.Format, { type: string; ending: string }> = {
  ndjson: { type: 'application/x-ndjson', ending: 'ndjson' },
  text: { type: 'text/plain; charset=utf-8', ending: 'log' },
  csv: { type: 'text/csv; charset=utf-8', ending: 'csv' },
}

export function logRoutes(logs: Logs): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = operation('Get logs, with filtering', 'The newest lines first. All filters must match.', {
      querystring: schema.LogQuery,
      response: { 200: schema.LogPage },
    })
    app.get('/logs', list, (request) => logs.page(request.query))

    const histogram = operation(
      'Count log lines by time and level',
      'One point for each step, including empty ones. Without `since`, the points begin at the oldest line. The newest lines are counted first, and counting stops after two seconds: then `complete` is false, and `since` is the time of the oldest line that was counted.',
      { querystring: schema.HistogramQuery, response: { 200: schema.Histogram } },
    )
    app.get('/logs/histogram', histogram, (request) => logs.histogram(request.query))

    const file = text('The lines as a file')
    const content = Object.fromEntries(
      Object.values(FILES).map(({ type }) => [type.split(';')[0], { schema: file }]),
    )
    const download = operation(
      'Download logs',
      'Includes the lines that exist when the download starts. Uses constant memory.',
      { querystring: schema.DownloadQuery, response: { 200: { description: 'A file', content } } },
    )
    app.get('/logs/download', download, async (request, reply) => {
      const { type, ending } = FILES[request.query.format ?? 'ndjson']
      const name = `toolroom-logs-${isoTime(Date.now()).slice(0, 19).replaceAll(':', '')}.${ending}`
      const body = Readable.from(await logs.download(request.query), { objectMode: false })
      return reply.type(type).header('content-disposition', `attachment; filename="${name}"`).send(body)
    })

    const clear = operation(
      'Clear logs',
      'Deletes the lines that match the filters; without a filter, all lines. Audit lines are kept.',
      { querystring: schema.LogFilters, response: { 200: schema.Cleared } },
    )
    app.delete('/logs', clear, async (request) => {
      return { deleted: await logs.clear(request.query, callerOf(request)) }
    })
  }
}
