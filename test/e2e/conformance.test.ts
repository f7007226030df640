import { describe, test } from 'vitest'
import { REVISIONS, runSuite } from '../conformance/suite.mjs'
import { expectConformant } from '../support/conformance.ts'
import { FULL } from '../support/full-or-short.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { definition } from '../support/running-servers.ts'
import { openService } from '../support/service-process.ts'

/** The official suite, through the gateway, against our own fixture as a STDIO server. It waits more than it works. */
const SHARING = ['auto', 'shared', 'per_agent', 'per_session'] as const
/** `npm test` runs each revision with one process for all clients, and with one for each. */
const CHOSEN = (revision: string) =>
  SHARING.filter((sharing) => FULL || sharing === (revision === '2025-11-25' ? 'per_session' : 'shared'))

describe.each(REVISIONS)('the revision %s', (revision) => {
  const reports = sharedByTests(async () => {
    const { add, start, ask, address } = await openService()
    const { key } = (await ask('POST', '/keys', { agent_type: 'referee' })).body
    const headers = { Authorization: `Bearer ${key}` }
    const run = async (sharing: string) => {
      const { id } = await add({ ...definition('conformance'), name: sharing, sharing })
      await start(id)
      return [sharing, await runSuite({ url: `${address}/mcp/${id}`, revision, headers })] as const
    }
    return new Map(await Promise.all(CHOSEN(revision).map(run)))
  })

  test.each(CHOSEN(revision).map((sharing) => ({ sharing, revision })))(
    'every required conformance scenario of $revision, and every tasks scenario, passes through the gateway with a STDIO server and sharing: $sharing',
    async ({ sharing }) => {
      expectConformant((await reports()).get(sharing), revision)
    },
    600_000,
  )
})
