import { expect, test } from 'vitest'
import { REVISIONS, runSuite } from '../conformance/suite.mjs'
import { definition } from '../support/running.ts'
import { openService } from '../support/service-process.ts'

/** The official suite, through the gateway, against our own fixture as a STDIO server. */
const SHARING = ['auto', 'shared', 'per_agent', 'per_session'] as const
const CELLS = REVISIONS.flatMap((revision) => SHARING.map((sharing) => ({ revision, sharing })))

test.each(CELLS)(
  'every required conformance scenario of $revision, and every tasks scenario, passes through the gateway with a STDIO server and sharing: $sharing',
  async ({ revision, sharing }) => {
    const { add, start, ask, address } = await openService()
    await add({ ...definition('conformance'), name: 'fixture', sharing })
    await start('fixture')
    const { key } = (await ask('POST', '/keys', { agent_type: 'referee' })).body
    const headers = { Authorization: `Bearer ${key}` }
    const report = await runSuite({ url: `${address}/mcp/fixture`, revision, headers })
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
