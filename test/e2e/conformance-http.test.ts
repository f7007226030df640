import { expect, onTestFinished, test } from 'vitest'
import { startPipe } from '../conformance/pipe.mjs'
import { REVISIONS, runSuite } from '../conformance/suite.mjs'
import { AUTHORISED, openHouse } from '../support/house.ts'

/** The official suite, through the gateway, against our own fixture at a URL, so that both sides use HTTP. */
test.each(REVISIONS)(
  'every required conformance scenario of %s, and every tasks scenario, passes through the gateway with an HTTP server',
  async (revision) => {
    const pipe = await startPipe()
    onTestFinished(() => pipe.close())
    const house = await openHouse()
    const post = (url: string, payload: object) =>
      house.inject({ method: 'POST', url, headers: AUTHORISED, payload })
    await post('/api/http-servers', { name: 'fixture', url: pipe.url })
    await post('/api/http-servers/fixture/tools/test_simple_text/call', {}) // the first call connects to the server
    const { key } = (await post('/api/keys', { agent_type: 'referee' })).json()
    const headers = { Authorization: `Bearer ${key}` }
    const report = await runSuite({ url: `${house.address}/mcp/fixture`, revision, headers })
    // An extension is never required. Only 2026-07-28 has scenarios of the tasks extension.
    const tasks = report.scenarios.filter(({ name }) => name.startsWith('tasks-'))
    expect(tasks).toHaveLength(revision === '2026-07-28' ? 10 : 0)
    const failed = report.scenarios.filter(
      ({ name, required, passed }) => (required || name.startsWith('tasks-')) && !passed,
    )
    expect(failed.map(({ name, reason }) => `${name}: ${reason}`)).toEqual([])
    const doubtful = report.scenarios.filter(({ required, warnings }) => required && warnings.length > 0)
    expect(doubtful.map(({ name, warnings }) => `${name}: ${warnings.join(', ')}`)).toEqual([])
    expect(report.required).toEqual(
      revision === '2025-11-25' ? { passed: 30, total: 30 } : { passed: 37, total: 37 },
    )
  },
  600_000,
)
