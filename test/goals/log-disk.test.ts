import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { figure } from '../support/figure.ts'
import { runs } from '../support/full-or-short.ts'
import { percentile, sampling } from '../support/measuring.ts'
import { definition } from '../support/running-servers.ts'
import { openService } from '../support/service-process.ts'

type Service = Awaited<ReturnType<typeof openService>>

const CAP_MB = 8
const LINE_BYTES = 1000
const BYTES = runs(30, 200) * 1_000_000
/** Total rate, chosen so that the rate limit drops nothing and the log thread is busy. */
const LINES_PER_S = 5000
const QUIET_LINES = 200
/** More than the share of one server, and with twelve of them most of what fits. */
const STORED_BYTES_MIN = CAP_MB * 1_000_000
const MAX_MS = 250

describe.runIf(process.platform === 'linux')('the log on disk', () => {
  test('R11: more lines than fit never make the log files exceed their limit, and a server that floods the log does not displace the lines of another', {
    timeout: 300_000,
  }, async () => {
    const { service, quiet } = await openWithQuietServer()
    const largest = await flooded(service, 1, 0.4)
    figure('R11', 'largest size while one server floods the log, MiB', largest, { most: CAP_MB })
    expect(await quietLines(service)).toEqual(quiet)
    const { body } = await service.ask('GET', '/logs?server_id=flood-0&source=server&search=flood&limit=1')
    expect(body.items).toHaveLength(1)
  })

  test('R11: more lines than fit never make the log files exceed their limit, also when many servers write them', {
    timeout: 300_000,
  }, async () => {
    const { service } = await openWithQuietServer()
    const largest = await flooded(service, 12, 0.6)
    figure('R11', 'largest size while twelve servers flood the log, MiB', largest, { most: CAP_MB })
    expect(largest).toBeGreaterThan(CAP_MB / 2)
  })
})

async function openWithQuietServer() {
  const service = await openService({ env: { LOG_MAX_MB: String(CAP_MB) } })
  await service.add(definition('flood', [`--rate=${QUIET_LINES}`, '--seconds=1'], { name: 'quiet' }))
  await service.start('quiet')
  await written(service, ['quiet'])
  const quiet = await quietLines(service)
  expect(quiet).toHaveLength(QUIET_LINES)
  return { service, quiet }
}

async function quietLines(service: Service): Promise<string[]> {
  const { body } = await service.ask('GET', '/logs?server_id=quiet&source=server&order=asc&limit=1000')
  return body.items.map(({ message }: { message: string }) => message)
}

/** Writes a share of all bytes with that many servers at once. Returns the maximum size of the files in megabytes. */
async function flooded(service: Service, servers: number, share: number): Promise<number> {
  const rate = Math.min(LINES_PER_S / servers, 4500)
  const seconds = (BYTES * share) / LINE_BYTES / servers / rate
  const ids = Array.from({ length: servers }, (_, n) => `flood-${n}`)
  const args = [`--rate=${rate}`, `--seconds=${seconds}`, `--size=${LINE_BYTES}`]
  for (const name of ids) await service.add(definition('flood', args, { name }))
  let open = true
  const sizes: number[] = []
  const measured = (async () => {
    for (; open; await sleep(100)) sizes.push(sizeMb(service))
  })()
  const samples = ['/logs?limit=100', '/health'].map((path) => {
    return { ask: () => service.ask('GET', path), everyMs: 50 }
  })
  const droppedBytes = async () =>
    (await service.list()).reduce((sum, { log_lines_dropped }) => sum + log_lines_dropped, 0) * LINE_BYTES
  let [sent, dropped] = [0, 0]
  const pour = async () => {
    // On a busy machine more lines are dropped: until more was stored than fits.
    while (sent - dropped < STORED_BYTES_MIN) {
      await poured(service, ids)
      sent += BYTES * share
      dropped = await droppedBytes()
    }
  }
  const [logs = [], health = []] = await sampling(pour(), samples, service.child.pid)
  open = false
  await measured
  const [p90, healthP90, largest] = [percentile(logs, 90), percentile(health, 90), Math.max(...sizes)]
  console.log(
    `${servers} servers, ${sent / 1e6} MB, ${dropped / 1e6} MB dropped: at most ${largest.toFixed(2)} MiB`,
    `in ${sizes.length} looks; p90 of /api/logs ${Math.round(p90)} ms, of /api/health ${Math.round(healthP90)} ms`,
  )
  expect(Math.max(p90, healthP90)).toBeLessThan(MAX_MS)
  return largest
}

/** Settles when all servers have written everything and the log's background work is done. */
async function poured(service: Service, ids: readonly string[]): Promise<void> {
  await Promise.all(ids.map((id) => service.ask('POST', `/servers/${id}/restart?wait_s=120`)))
  await written(service, ids)
  await sleep(1000)
}

async function written(service: Service, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    for (;;) {
      const { body } = await service.ask('POST', `/servers/${id}/tools/sent/call`, { arguments: {} })
      const [sent, total] = String(body.content[0].text).split(' of ')
      if (sent === total) break
      await sleep(100)
    }
  }
  await service.ask('GET', '/logs?limit=1') // a read flushes all earlier lines
}

function sizeMb({ data }: Service): number {
  const size = (end: string) => statSync(join(data, `logs.db${end}`), { throwIfNoEntry: false })?.size ?? 0
  return (size('') + size('-wal') + size('-shm')) / 1_048_576
}
