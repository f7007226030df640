import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import { testConnection } from '../../src/mcp/transports/http/test-connection.ts'
import { openFaults } from '../fixtures/http/faults.ts'
import { pem } from '../fixtures/http/sites.ts'
import { figure } from '../support/figure.ts'
import { FULL } from '../support/full-or-short.ts'
import { stopwatch } from '../support/measuring.ts'

type Urls = Awaited<ReturnType<typeof openFaults>>['urls']

/** Each fault, its error code, and the step at which the connection test ends. */
const FAULTS: readonly (readonly [kind: keyof Urls, code: string, step: string])[] = [
  ['refused', 'connection_refused', 'tcp'],
  ['reset', 'connection_reset', 'tcp or http'], // immediately after the connect: either step may see it
  ['hangs_up', 'connection_reset', 'http'],
  ['half_open', 'timeout', 'http'],
  ['drip', 'timeout', 'initialize'],
  ['drip_head', 'timeout', 'http'],
  ['cut_body', 'connection_reset', 'initialize'],
  ['garbage', 'protocol_error', 'http'],
  ['self_signed', 'tls_failed', 'tls'],
  ['expired', 'tls_failed', 'tls'],
  ['other_host', 'tls_failed', 'tls'],
  ['redirect_loop', 'too_many_redirects', 'http'],
  ['redirect_elsewhere', 'redirect_refused', 'http'],
  ['redirect_file', 'redirect_refused', 'http'],
  ['redirect_nowhere', 'protocol_error', 'initialize'],
  ['redirect_303', 'redirect_refused', 'http'],
  ['html', 'not_mcp', 'initialize'],
  ['json', 'not_mcp', 'initialize'],
  ['no_json', 'not_mcp', 'initialize'],
  ['no_content', 'not_mcp', 'initialize'],
  ['empty', 'not_mcp', 'initialize'],
  ['s401', 'auth_required', 'http'],
  ['s403', 'forbidden', 'http'],
  ['s404', 'not_found', 'http'],
  ['s429', 'rate_limited', 'http'],
  ['s500', 'http_error', 'http'],
  ['s503', 'unavailable', 'http'],
  ['bomb', 'response_too_large', 'initialize'],
  ['bomb_sse', 'response_too_large', 'initialize'],
  ['bomb_tools', 'response_too_large', 'tools_list'],
  ['s500_tools', 'http_error', 'tools_list'],
  ['silent_tools', 'timeout', 'tools_list'],
  ['endless_json', 'response_too_large', 'initialize'],
  ['endless_event', 'response_too_large', 'initialize'],
  ['endless_events', 'response_too_large', 'initialize'],
  ['endless_comments', 'timeout', 'initialize'],
  ['silent_sse', 'timeout', 'initialize'],
  ['closed_sse', 'protocol_error', 'initialize'],
]

const SHORT_MS = 1000
const LONGEST_MS = 10_000
/** What a connection test may take beyond its timeout. */
const LATE_MS = 500
const MEBIBYTE = 1024 * 1024
const RSS_MAX_MIB = 30
const SECRETS = { authorization: 'Bearer a-secret-of-this-server', 'x-api-key': 'another-secret-of-it' }

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

test('R28: for every fault of an HTTP server the connection test ends in time, says what to do, and leaks no secret', async () => {
  const faults = await openFaults()
  onTestFinished(() => void faults.close())
  const rejections: unknown[] = []
  const remember = (reason: unknown) => rejections.push(reason)
  process.on('unhandledRejection', remember)
  onTestFinished(() => void process.off('unhandledRejection', remember))
  // The client trusts the authority of these certificates, so that only their other faults show.
  const network = (kind: string) => (kind === 'self_signed' ? {} : { ca: pem('authority') })
  const ask = (kind: keyof Urls, timeoutMs: number) =>
    testConnection({
      url: faults.urls[kind],
      headers: SECRETS,
      transport: 'auto',
      version: '0',
      timeoutMs,
      network: network(kind),
    })

  await ask('mcp', SHORT_MS) // warm-up: loading and compiling is not part of a fault
  collect()
  const before = process.memoryUsage.rss()
  let peak = before
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 5)
  onTestFinished(() => clearInterval(watch))
  const sentences = new Map<string, string>()
  let slowest = 0
  for (const [kind, code, step] of FAULTS) {
    // A fault that ends by itself has time for that on a busy machine; what our own code takes is measured.
    const timeoutMs = code !== 'timeout' || (FULL && kind === 'half_open') ? LONGEST_MS : SHORT_MS
    const mostMs = FULL && kind === 'half_open' ? LONGEST_MS : SHORT_MS + LATE_MS
    collect() // collects the garbage of earlier faults
    const spent = stopwatch()
    const report = await ask(kind, timeoutMs)
    const took = spent()
    slowest = Math.max(slowest, took)
    const found = [kind, report.error?.code, report.steps.at(-1)?.name]
    expect(step.split(' or ').map((each) => [kind, code, each])).toContainEqual(found)
    expect(report).toMatchObject({ ok: false, tool_count: null })
    expect(report.steps.map(({ ok }) => ok)).toEqual(
      report.steps.map((_, at) => at < report.steps.length - 1),
    )
    expect(took, kind).toBeLessThan(mostMs)
    expect(report.error?.message, kind).toContain('127.0.0.1')
    expect(report.error?.hint.length, kind).toBeGreaterThan(10)
    expect(JSON.stringify(report)).not.toMatch(/secret/)
    sentences.set(kind, `${report.error?.message}. ${report.error?.hint}.`)
  }
  const growth = peak - before
  for (const [kind, sentence] of sentences) console.log(`${kind.padEnd(20)} ${sentence}`)

  figure('R28', `slowest connection test of ${FAULTS.length} faults, ms`, slowest, { most: LONGEST_MS })
  figure('R28', 'growth, MiB', growth / MEBIBYTE, { most: RSS_MAX_MIB })
  expect(faults.elsewhere.received, 'no request went to another origin').toEqual([])
  expect(new Set(['self_signed', 'expired', 'other_host'].map((kind) => sentences.get(kind))).size).toBe(3)
  await sleep(50)
  figure('R28', 'unhandled rejections', rejections.length, { exactly: 0 })
  expect(faults.open(), 'open connections').toEqual([])
})
