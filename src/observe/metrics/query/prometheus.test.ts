import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { event } from '../../../../test/support/metrics.ts'
import { CALL, CUSTOM, openMetrics } from '../../../../test/support/metrics-api.ts'
import { onPath } from '../../../../test/support/on-path.ts'

const promtool = onPath('promtool')

async function text() {
  const { get, post, recorder, clock } = await openMetrics()
  for (const status of ['running', 'backoff', 'starting', 'running'])
    recorder.availability.setStatus('docs', status)
  clock.pass(2000)
  recorder.availability.sample('docs', { cpu_pct: 25, rss_bytes: 5_000_000, processes: 2 })
  await post([
    CALL,
    {
      ...CALL,
      tool: 'quoted "x" \\ ü',
      duration_ms: 1500,
      status: 'error',
      error_code: 'boom',
      agent_type: 'cursor',
    },
    { ...CALL, duration_ms: 90 },
    { kind: 'check', server_id: 'docs', duration_ms: 3, status: 'ok' },
    { ...CUSTOM, labels: { name: 'x', quantile: 'y', plain: 'z' } },
    CUSTOM,
  ])
  return get('prometheus')
}

test('the Prometheus text has types, help, escaped labels and cumulative buckets', async () => {
  const reply = await text()
  expect(reply.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
  const own = 'mcp_method_name="tools/call",server_id="docs",gen_ai_tool_name="search"'
  for (const line of [
    '# TYPE mcp_client_operation_duration_seconds histogram',
    `mcp_client_operation_duration_seconds_bucket{${own},le="0.02"} 1`,
    `mcp_client_operation_duration_seconds_bucket{${own},le="0.1"} 2`,
    `mcp_client_operation_duration_seconds_bucket{${own},le="+Inf"} 2`,
    `mcp_client_operation_duration_seconds_sum{${own}} 0.1`,
    `mcp_client_operation_duration_seconds_count{${own}} 2`,
    'toolroom_calls_total{server_id="docs",gen_ai_tool_name="quoted \\"x\\" \\\\ ü",status="error"} 1',
    'toolroom_call_errors_total{server_id="docs",gen_ai_tool_name="quoted \\"x\\" \\\\ ü",error_type="boom"} 1',
    'mcp_server_states{type="stdio",status="running"} 2',
    'mcp_server_states{type="http",status="connected"} 1',
    'toolroom_http_server_checks_total{server_id="docs",status="ok"} 1',
    'toolroom_custom_count{exported_name="x",exported_quantile="y",plain="z",name="queue"} 1',
    'toolroom_custom{name="queue",quantile="0.5"} 3',
    'process_resident_memory_bytes 90000000',
    'toolroom_server_up{server_id="docs"} 1',
    'toolroom_server_restarts_total{server_id="docs"} 1',
    'toolroom_server_resident_memory_bytes{server_id="docs"} 5000000',
    'toolroom_server_cpu_seconds_total{server_id="docs"} 0.5',
    'toolroom_server_calls_total{server_id="docs",status="ok"} 2',
    'toolroom_server_call_duration_seconds_bucket{server_id="docs",le="0.1"} 2',
    'toolroom_server_call_duration_seconds_count{server_id="docs"} 3',
  ])
    expect(reply.body.split('\n')).toContain(line)
  expect(reply.body).not.toContain('toolroom_server_up{server_id="quiet"}') // it is stopped
})

test.runIf(promtool)('promtool accepts the Prometheus text', async () => {
  const { body } = await text()
  const { status, stdout, stderr } = spawnSync(promtool ?? '', ['check', 'metrics'], {
    input: body,
    encoding: 'utf8',
  })
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' })
})

test('the Prometheus text combines all tools above 500 into one', async () => {
  const { recorder, metrics } = await openMetrics()
  recorder.record(Array.from({ length: 900 }, (_, n) => event({ tool: `tool ${n}` })))
  const counts = metrics.prometheus().match(/^mcp_client_operation_duration_seconds_count.*$/gm) ?? []
  expect(counts).toHaveLength(501)
  expect(counts.at(-1)).toBe(
    'mcp_client_operation_duration_seconds_count{mcp_method_name="tools/call",server_id="other",gen_ai_tool_name="other"} 400',
  )
})
