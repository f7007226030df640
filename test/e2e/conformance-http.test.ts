import { test } from 'vitest'
import { startPipe } from '../conformance/pipe.mjs'
import { REVISIONS } from '../conformance/suite.mjs'
import { conformanceOf, expectConformant } from '../support/conformance.ts'
import { atEnd, sharedByTests } from '../support/lifetime.ts'
import { AUTHORISED, openTestService } from '../support/test-service.ts'

/** The official suite, through the gateway, against our own fixture at a URL, so that both sides use HTTP. */
const reports = sharedByTests(async () => {
  const service = await openTestService()
  const post = (url: string, payload: object) =>
    service.inject({ method: 'POST', url, headers: AUTHORISED, payload })
  const { key } = (await post('/api/keys', { agent_type: 'referee' })).json()
  const headers = { Authorization: `Bearer ${key}` }
  const run = async (revision: string) => {
    const pipe = await startPipe()
    atEnd(() => pipe.close())
    const { id } = (await post('/api/http-servers', { name: `fixture ${revision}`, url: pipe.url })).json()
    await post(`/api/http-servers/${id}/tools/test_simple_text/call`, {}) // the first call connects to the server
    return [
      revision,
      await conformanceOf({ url: `${service.address}/mcp/${id}`, revision, headers }),
    ] as const
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
