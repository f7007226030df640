import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { DiskReserve } from '../../src/store/sqlite/disk-space.ts'
import { figure } from '../support/figure.ts'
import { ownFolder } from '../support/folder.ts'
import { definition, get, post, register } from '../support/running-servers.ts'
import { openService } from '../support/service-process.ts'
import { mayMount, smallDisk } from '../support/small-disk.ts'
import { AUTHORISED as headers, openTestService } from '../support/test-service.ts'

test.runIf(mayMount)(
  'R15: on a full disk writes get 507, reads and deletes work, and writes succeed again when there is space',
  async () => {
    const home = ownFolder()
    const { fill, free } = smallDisk(join(home, 'data'), 24)
    const service = await openTestService({ home, env: { LOG_MAX_MB: '8' } })
    onTestFinished(() => service.close()) // before the unmount
    const add = (name: string) =>
      service.inject({
        method: 'POST',
        url: '/api/servers',
        headers,
        body: { name, command: 'node', args: ['y'.repeat(20_000)] },
      })
    expect((await add('first')).statusCode).toBe(201)
    const act = (verb: string) => post(service, `/api/servers/echo/${verb}`)
    await register(service, 'echo')
    expect((await act('start')).statusCode).toBe(200)

    fill()
    const answers: number[] = []
    for (let n = 0; n < 30; n += 1) answers.push((await add(`more-${n}`)).statusCode)
    const refused = answers.filter((status) => status === 507).length
    figure('R15', `of ${answers.length} writes on a full disk, refused with 507`, refused, { least: 1 })
    const others = answers.filter((status) => status !== 201 && status !== 507).length
    figure('R15', 'writes on a full disk with another response', others, { exactly: 0 })
    expect((await add('refused')).json()).toMatchObject({ code: 'disk_full', status: 507 })
    expect((await service.inject('/api/servers')).statusCode).toBe(200)
    expect((await service.inject('/api/logs?limit=1')).statusCode).toBe(200)
    expect((await service.inject('/api/health')).json()).toMatchObject({ status: 'degraded' })
    // A server can be stopped and started, as it is started for a call.
    expect((await act('stop')).json()).toMatchObject({ status: 'stopped' })
    expect((await act('start')).json()).toMatchObject({ status: 'running' })
    expect(await get(service, 'echo')).toMatchObject({ status: 'running', desired_state: 'running' })
    expect((await service.inject({ method: 'DELETE', url: '/api/servers/first', headers })).statusCode).toBe(
      204,
    )
    expect((await service.inject({ method: 'DELETE', url: '/api/logs', headers })).statusCode).toBe(200)

    fill() // the space of the reserve, too
    expect((await act('restart')).json()).toMatchObject({ status: 'running' })

    free()
    expect((await add('healed')).statusCode).toBe(201)
    expect((await act('start')).json()).toMatchObject({ status: 'running' })
    // Log lines that were lost degrade the health for 5 s.
    await expect.poll(async () => (await service.inject('/api/health')).json().status).toBe('ok')
  },
  600_000,
)

test.runIf(mayMount)(
  'R15: a full disk does not prevent a start, which takes the space of the reserve',
  async () => {
    const home = ownFolder()
    const { fill, freeBytes } = smallDisk(join(home, 'data'), 24)
    await (await openTestService({ home })).close()
    fill()
    expect(freeBytes()).toBe(0)
    const service = await openTestService({ home })
    onTestFinished(() => service.close())
    expect((await service.inject('/api/health')).json()).toMatchObject({ status: 'degraded' })
  },
)

test.runIf(mayMount)(
  'with 20 MiB free, every one of 20 audit rows and 100 lines can be read, nothing is dropped, and the health is ok',
  async () => {
    const home = ownFolder()
    const { freeBytes } = smallDisk(join(home, 'data'), 26)
    const service = await openTestService({ home })
    onTestFinished(() => service.close())
    for (let n = 0; n < 20; n += 1) {
      const body = { name: `s${n}`, command: 'node' }
      expect((await service.inject({ method: 'POST', url: '/api/servers', headers, body })).statusCode).toBe(
        201,
      )
      for (let line = 0; line < 5; line += 1) service.log.info(`small disk ${n} ${line}`)
      await service.inject('/api/logs?limit=1') // a batch of its own
    }
    expect(freeBytes()).toBeLessThan(21 * 1_048_576)
    const total = async (query: string) => (await service.inject(`/api/logs?${query}`)).json().total
    expect(await total('source=audit')).toBe(20)
    expect(await total('search=small%20disk')).toBe(100)
    expect((await service.inject('/api/health')).json()).toMatchObject({ status: 'ok' })
  },
)

test.runIf(mayMount)(
  'of 15,000 lines written on a full disk each can be read or is counted as dropped, the audit rows stay, and the health says it',
  async () => {
    const home = ownFolder()
    const { fill, free } = smallDisk(join(home, '.local/share/toolroom'), 24)
    const service = await openService({ home })
    onTestFinished(async () => {
      service.child.kill('SIGTERM')
      await service.ended // before the unmount
    })
    const flood = (name: string, seconds: number) =>
      service.add(definition('flood', ['--rate=2500', `--seconds=${seconds}`, '--size=200'], { name }))
    await flood('before', 2)
    await flood('full', 4)
    await service.start('before')
    await sent(service, 'before')
    const audited = await total(service, 'source=audit')
    fill()
    await service.start('full')
    await sent(service, 'full')

    const accounted = async () => (await counts(service)).reduce((sum, lines) => sum + lines)
    await expect.poll(accounted, { timeout: 60_000, interval: 500 }).toBe(SENT) // lines may still be on their way
    const [readable, dropped] = await counts(service)
    console.log(`${SENT} lines on a full disk: ${readable} can be read, ${dropped} were dropped`)
    expect(readable + dropped).toBe(SENT)
    expect(readable).toBeGreaterThan(1000)
    expect(dropped).toBeGreaterThan(0)
    expect(await total(service, 'source=audit')).toBeGreaterThanOrEqual(audited)
    const { body: health } = await service.ask('GET', '/health')
    expect(health.status).toBe('degraded')
    expect(health.checks).toContainEqual({
      name: 'logs',
      ok: false,
      detail: expect.stringMatching(/^The disk is nearly full, and \d+ log lines were lost$/),
    })
    expect(service.output.stderr).toMatch(/Warning: \d+ log lines were lost: the disk is nearly full/)

    free()
    expect((await service.ask('POST', '/servers', { name: 'healed', command: 'node' })).status).toBe(201)
    expect((await service.ask('GET', '/health')).body).toMatchObject({ status: 'ok' })
    const rows = (await service.ask('GET', '/logs?source=audit&order=asc')).body.items
    const ids = rows.map(({ data }: { data: { audit_id: number } }) => data.audit_id)
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, n) => n + 1))
  },
  600_000,
)

type Service = Awaited<ReturnType<typeof openService>>
const SENT = 15_000

async function total(service: Service, query: string): Promise<number> {
  const { body } = await service.ask('GET', `/logs?limit=1&${query}`)
  return body.total ?? expect.unreachable('more than 10,000')
}

/** Lines of both servers that can be read, and that are counted as dropped. */
async function counts(service: Service): Promise<[readable: number, dropped: number]> {
  const lines = (id: string) => total(service, `server_id=${id}&source=server&stream=stderr`)
  const readable = (await lines('before')) + (await lines('full'))
  return [readable, (await service.list()).reduce((sum, { log_lines_dropped }) => sum + log_lines_dropped, 0)]
}

async function sent(service: Service, id: string): Promise<void> {
  for (;;) {
    const { body } = await service.ask('POST', `/servers/${id}/tools/sent/call`, { arguments: {} })
    const [done, all] = String(body.content?.[0].text).split(' of ')
    if (done === all) return
    await sleep(100)
  }
}

test.runIf(mayMount)(
  'R15: after a full disk, the reserve of 4 MiB is created again only when 8 MiB are free, so that writes do not fill the disk at once',
  () => {
    const small = join(ownFolder(), 'data')
    smallDisk(small, 12)
    const reserve = new DiskReserve(small)
    expect(reserve.ensure()).toBe(true)
    reserve.release()
    writeFileSync(join(small, 'filler'), Buffer.alloc(6 * 1_048_576))
    expect([reserve.ensure(), reserve.hasRoom()]).toEqual([false, false])
    rmSync(join(small, 'filler'))
    expect([reserve.hasRoom(), reserve.ensure()]).toEqual([true, true])
  },
)
