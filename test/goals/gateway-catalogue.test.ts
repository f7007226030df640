import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { processesMarked } from '../../src/supervisor/platform/linux/proc.ts'
import { runs } from '../support/full-or-short.ts'
import { Agent, newKey, textOf, toolsIn } from '../support/gateway.ts'
import { moment, ownMs } from '../support/measuring.ts'
import { inParallel } from '../support/raw-http.ts'
import { openService } from '../support/service-process.ts'

const SERVERS = runs(40, 104)
const TOOLS = 10
const MAX_MS = runs(60, 100)
const light = fileURLToPath(new URL('../fixtures/servers/light.sh', import.meta.url))

test.runIf(process.platform === 'linux')(
  `the tools of ${SERVERS} idle servers are in the first list after the start, and no server is started for it`,
  async () => {
    const { home, key } = await addServers()
    const ms = await measure(home, key)
    console.log(`${SERVERS * TOOLS} tools ${ms.toFixed(0)} ms after the start`)
    expect(ms).toBeLessThanOrEqual(MAX_MS)
  },
  180_000,
)

/** Starts each server once, so that its tools are known. */
async function addServers() {
  const service = await openService()
  const ids = Array.from({ length: SERVERS }, (_, n) => `light-${n}`)
  for (const name of ids)
    await service.add({ name, command: '/bin/sh', args: [light], start_mode: 'on_demand' })
  await inParallel(ids, 4, async (id) => {
    const { status, body } = await service.ask('POST', `/servers/${id}/tools/tool_0/call`, { arguments: {} })
    expect(status, JSON.stringify(body)).toBe(200)
  })
  const key = await newKey(service)
  service.child.kill('SIGTERM')
  await service.ended
  return { home: service.home, key }
}

/** The time of our own code from the first healthy response to the complete list. */
async function measure(home: string, key: string): Promise<number> {
  const service = await openService({ home })
  expect((await service.ask('GET', '/health')).status).toBe(200)
  const healthy = moment(service.child.pid)
  const agent = await Agent.open(service, key, 'modern')
  const { answers } = await agent.ask('tools/list')
  const ms = ownMs(healthy, moment(service.child.pid))
  const names = toolsIn(answers[0]) ?? []
  expect(new Set(names).size).toBe(SERVERS * TOOLS)
  expect(names).toContain(`light-${SERVERS - 1}__tool_9`)
  expect(processesMarked(service.mark), 'started servers').toEqual([])
  expect(textOf((await agent.call('light-7__tool_3')).answers[0])).toBe('light')
  expect(processesMarked(service.mark)).toHaveLength(1)
  service.child.kill('SIGTERM')
  await service.ended
  return ms
}
