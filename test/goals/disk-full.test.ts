import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { DiskReserve } from '../../src/store/configuration/disk-reserve.ts'
import { ownFolder } from '../support/folder.ts'
import { AUTHORISED as headers, openHouse } from '../support/house.ts'
import { get, post, register } from '../support/running.ts'

const mayMount = process.platform === 'linux' && process.getuid?.() === 0 && canMount()

function canMount(): boolean {
  const folder = '/tmp/.toolroom-mount-probe'
  try {
    mkdirSync(folder, { recursive: true })
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' })
    execFileSync('umount', [folder], { stdio: 'ignore' })
    return true
  } catch {
    return false // a container without permission to mount
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test.runIf(mayMount)(
  'R15: on a full disk writes get 507, reads and deletes work, and writes succeed again when there is space',
  async () => {
    const home = ownFolder()
    const small = join(home, 'data')
    mkdirSync(small)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m,mode=0700', 'tmpfs', small])
    onTestFinished(() => void execFileSync('umount', ['-l', small]))
    const house = await openHouse({ home, env: { LOG_MAX_MB: '8' } })
    onTestFinished(() => house.close()) // before the unmount
    const add = (name: string) =>
      house.inject({
        method: 'POST',
        url: '/api/servers',
        headers,
        body: { name, command: 'x', args: ['y'.repeat(20_000)] },
      })
    expect((await add('first')).statusCode).toBe(201)
    const act = (verb: string) => post(house, `/api/servers/echo/${verb}`)
    await register(house, 'echo')
    expect((await act('start')).statusCode).toBe(200)

    const filler = join(small, 'filler')
    const fill = () => {
      for (let size = 1 << 20; size >= 4096; size = Math.floor(size / 2)) {
        try {
          for (let n = 0; ; n += 1) writeFileSync(`${filler}-${size}-${n}`, Buffer.alloc(size))
        } catch {
          // full at this size: fill the rest with smaller ones
        }
      }
    }
    fill()
    const answers: number[] = []
    for (let n = 0; n < 30; n += 1) answers.push((await add(`more-${n}`)).statusCode)
    expect(answers).toContain(507)
    expect(answers.every((status) => status === 201 || status === 507)).toBe(true)
    expect((await add('refused')).json()).toMatchObject({ code: 'disk_full', status: 507 })
    expect((await house.inject('/api/servers')).statusCode).toBe(200)
    expect((await house.inject('/api/logs?limit=1')).statusCode).toBe(200)
    expect((await house.inject('/api/health')).json()).toMatchObject({ status: 'degraded' })
    // A running server can be stopped but not started: a start that cannot be stored must not happen.
    expect((await act('stop')).json()).toMatchObject({ status: 'stopped' })
    expect((await act('start')).json()).toMatchObject({ code: 'disk_full', status: 507 })
    expect(await get(house, 'echo')).toMatchObject({ status: 'stopped', desired_state: 'stopped' })
    expect((await house.inject({ method: 'DELETE', url: '/api/servers/first', headers })).statusCode).toBe(
      204,
    )
    expect((await house.inject({ method: 'DELETE', url: '/api/logs', headers })).statusCode).toBe(200)

    execFileSync('sh', ['-c', `rm -f ${filler}-*`])
    expect((await add('healed')).statusCode).toBe(201)
    expect((await act('start')).json()).toMatchObject({ status: 'running' })
    expect((await house.inject('/api/health')).json()).toMatchObject({ status: 'ok' })
  },
  60_000,
)

test.runIf(mayMount)(
  'R15: after a full disk, the reserve of 4 MiB is created again only when 8 MiB are free, so that writes do not fill the disk at once',
  () => {
    const small = join(ownFolder(), 'data')
    mkdirSync(small)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=12m,mode=0700', 'tmpfs', small])
    onTestFinished(() => void execFileSync('umount', ['-l', small]))
    const reserve = new DiskReserve(small)
    expect(reserve.ensure()).toBe(true)
    reserve.release()
    writeFileSync(join(small, 'filler'), Buffer.alloc(6 * 1_048_576))
    expect([reserve.ensure(), reserve.hasRoom()]).toEqual([false, false])
    rmSync(join(small, 'filler'))
    expect([reserve.hasRoom(), reserve.ensure()]).toEqual([true, true])
  },
)
