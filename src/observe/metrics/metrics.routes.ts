import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { operationsOf, wholeList } from '../../kernel/rest-parts.ts'
import { text } from '../../kernel/schema-fields.ts'
import { ServerKey } from '../../servers/shared/server-fields.ts'
import { JSON_TYPE } from '../../servers/shared/upstreams.routes.ts'
import * as schema from './metrics.schema.ts'
import type { Metrics } from './metrics.service.ts'
import { Accepted, MetricEvents } from './record/metric-events.schema.ts'

const operation = operationsOf('Metrics')
const TEXT_FORMAT = 'text/plain; version=0.0.4; charset=utf-8'
const MAX_BODY_BYTES = 10 * 1_048_576

export function metricsRoutes(metrics: Metrics): FastifyPluginAsyncTypebox {
  return async (app) => {
    const summary = operation(
      'Metrics summary',
      'Servers by status, calls, latencies, and what was called, slow or failing most.',
      { querystring: schema.WindowQuery, response: { 200: schema.Summary } },
    )
    app.get('/metrics/summary', summary, async ({ query }) => metrics.summary(query.window ?? '5m'))

    const timeseries = operation(
      'Calls and latencies over time',
      'One point for each step, including empty ones. The last point is not complete. With `by=server_id`, and for `kind=resources`, one series for each server. In a window of `5m`, availability and resources are known since the start of Toolroom.',
      { querystring: schema.SeriesQuery, response: { 200: schema.AnyTimeseries } },
    )
    // As text: a serializer would have to validate every point to find out which of the two it is.
    app.get('/metrics/timeseries', timeseries, async ({ query }, reply) =>
      reply.type(JSON_TYPE).send(JSON.stringify(metrics.timeseries(query)) as never),
    )

    const server = operation('Metrics of one server', 'Calls, errors by code, latencies and checks.', {
      params: ServerKey,
      querystring: schema.WindowQuery,
      response: { 200: schema.ServerMetrics },
    })
    app.get('/metrics/servers/:id', server, async ({ params, query }) =>
      metrics.ofServer(params.id, query.window ?? '5m'),
    )

    const tags = ['HTTP servers']
    const httpServer = { schema: { ...server.schema, tags, summary: 'Metrics of one HTTP server' } }
    app.get('/http-servers/:id/metrics', httpServer, async ({ params, query }) =>
      metrics.ofServer(params.id, query.window ?? '5m', 'http'),
    )

    const tools = operation('Metrics by tool', 'The most called tools first.', {
      querystring: schema.ToolsQuery,
      response: { 200: schema.ToolFiguresList },
    })
    app.get('/metrics/tools', tools, async ({ query }) =>
      wholeList(metrics.tools(query.window ?? '5m', query.server_id)),
    )

    const agents = operation(
      'Metrics by agent',
      'Calls of each agent, and what its tools take in its context.',
      { querystring: schema.WindowQuery, response: { 200: schema.AgentFiguresList } },
    )
    app.get('/metrics/agents', agents, async ({ query }) => wholeList(metrics.agents(query.window ?? '5m')))

    const record = operation('Record a metric', 'Records all events or none.', {
      body: MetricEvents,
      response: { 202: Accepted },
      errors: ['cardinality_limit'],
    })
    app.post('/metrics/record', { ...record, bodyLimit: MAX_BODY_BYTES }, async (request, reply) =>
      reply.code(202).send({ accepted: metrics.record(request.body) }),
    )

    const body = text('Text format 0.0.4')
    const prometheus = operation('Metrics for Prometheus', 'The text format that Prometheus scrapes.', {
      response: { 200: { description: 'Text format 0.0.4', content: { 'text/plain': { schema: body } } } },
    })
    app.get('/metrics/prometheus', prometheus, async (_, reply) =>
      reply.type(TEXT_FORMAT).send(metrics.prometheus()),
    )
  }
}
