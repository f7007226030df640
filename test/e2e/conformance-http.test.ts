import { test } from 'vitest'
import { startPipe } from '../conformance/pipe.mjs'
import { REVISIONS, runSuite } from '../conformance/suite.mjs'
import { expectConformant } from '../support/conformance.ts'
import { atEnd, sharedByTests } from '../support/lifetime.ts'
import { openService } from '../support/service-process.ts'

/**
 * The official suite, through the gateway, against our own fixture at a URL, so that both sides use HTTP. The service is a
 * process of its own: in this one it would share a thread with the fixture, and the suite waits only 1.5 s for a message.
 */
const reports = sharedByTests(async () => {
  const { ask, address } = await openService()
  const { key } = (await ask('POST', '/keys', { agent_type: 'referee' })).body
  const headers = { Authorization: `Bearer ${key}` }
  const run = async (revision: string) => {
    const pipe = await startPipe()
    atEnd(() => pipe.close())
    const { id } = (await ask('POST', '/http-servers', { name: `fixture ${revision}`, url: pipe.url })).body
    await ask('POST', `/http-servers/${id}/tools/test_simple_text/call`, {}) // the first call connects to the server
    return [revision, await runSuite({ url: `${address}/mcp/${id}`, revision, headers })] as const
  }
  return new Map(await Promise.all(REVISIONS.map(run)))
})

test.each(REVISIONS)(
  'every required conformance scenario of %s, and every tasks scenario, passes through the gateway with an HTTP server',
  async (revision) => {
    expectConformant((await reports()).get(revision), revision)
  },
  600_000,
)
