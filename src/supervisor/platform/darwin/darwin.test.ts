import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { platform } from '../../../../test/fixtures/darwin-on-linux.ts'
import { ownFolder } from '../../../../test/support/folder.ts'
import { leaveBehind } from '../../../../test/support/orphan.ts'
import { killService, platformContract } from '../../../../test/support/platform.contract.ts'
import { get, post, register, until } from '../../../../test/support/running-servers.ts'
import { openTestService } from '../../../../test/support/test-service.ts'
import { endOrphan, findOrphans } from '../../orphans/orphans.ts'
import { allProcesses } from '../process-table.ts'

const onUnix = process.platform !== 'win32'
const file = new URL('../../../../test/fixtures/darwin-on-linux.ts', import.meta.url)

describe.runIf(onUnix)('macOS, with the ps of this system', () => {
  platformContract('darwin', platform, file)
})

/** Only ps has /proc: it runs in a namespace of its own. */
function withoutProc(command: readonly string[]): string[] {
  const folder = ownFolder()
  const [proc, ps, wrapper] = [join(folder, 'proc'), join(folder, 'ps'), join(folder, 'wrapper')]
  mkdirSync(proc)
  copyFileSync('/usr/bin/ps', ps)
  const inner = `mount --bind '${proc}' /proc && exec '${ps}' "$@"`
  writeFileSync(wrapper, `#!/bin/sh\nexec unshare -m sh -c '${inner.replaceAll("'", `'\\''`)}' ps "$@"\n`, {
    mode: 0o755,
  })
  const outer = `mount --bind /proc '${proc}' && mount --bind '${wrapper}' /usr/bin/ps && mount -t tmpfs none /proc && exec "$@"`
  return ['unshare', '-m', 'sh', '-c', outer, 'sh', ...command]
}

test.runIf(process.getuid?.() === 0)(
  'without /proc, the processes of each server are known, and a killed service leaves none of them',
  () => killService(file, platform, withoutProc),
)

test.runIf(onUnix)(
  'the last words of a process that ends at once are read, even while ps is slow',
  async () => {
    const folder = ownFolder()
    writeFileSync(join(folder, 'ps'), '#!/bin/sh\nsleep 1\nexec /usr/bin/ps "$@"\n', { mode: 0o755 })
    const { PATH } = process.env
    process.env.PATH = `${folder}:${PATH}`
    onTestFinished(() => {
      process.env.PATH = PATH
    })
    const mark = 'TOOLROOM_CHILD=slow-ps'
    const marks = { ofFolder: mark, ofRun: mark }
    const groups = await platform.openProcessGroups({ marks, wasKilled: false, onTrouble: () => {} })
    const launch = { path: '/bin/sh', args: ['-c', 'echo last words >&2; exit 3'], cwd: undefined, env: {} }
    const child = await groups.start({ ...launch, mark: `${mark}/x/` })
    expect(await text(child.errors)).toBe('last words\n')
    expect(await child.ended).toEqual({ code: 3, signal: null })
    await child.end()
    await groups.close()
  },
)

test.runIf(onUnix)('a process is ended although ps fails', async () => {
  const mark = 'TOOLROOM_CHILD=failing-ps'
  const marks = { ofFolder: mark, ofRun: mark }
  const groups = await platform.openProcessGroups({ marks, wasKilled: false, onTrouble: () => {} })
  const launch = { path: '/bin/sh', args: ['-c', 'trap "" TERM; sleep 300'], cwd: undefined, env: {} }
  const child = await groups.start({ ...launch, mark: `${mark}/x/` })
  await platform.table.refresh()
  const folder = ownFolder()
  writeFileSync(join(folder, 'ps'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  const { PATH } = process.env
  process.env.PATH = `${folder}:${PATH}`
  onTestFinished(() => {
    process.env.PATH = PATH
  })
  await Promise.all([
    child.end(),
    platform.table.refresh().catch(() => {}),
    platform.table.refresh().catch(() => {}),
  ])
  expect(await child.ended).toEqual({ code: null, signal: 'SIGKILL' })
  process.env.PATH = PATH
  await Promise.all([platform.table.refresh(), platform.table.refresh()])
  await groups.close()
})

describe.runIf(onUnix)('a service on macOS, with the ps of this system', () => {
  test('a server that crashes is started again, although a signal to its empty group says EPERM', async () => {
    const service = await openTestService({ platform })
    const { id } = await register(service, 'setsid', [], { restart: { policy: 'always', max_delay_s: 1 } })
    expect((await post(service, `/api/servers/${id}/start?wait_s=60`)).statusCode).toBe(200)
    const { pid } = await get(service, id)
    process.kill(pid ?? 0, 'SIGKILL')
    const after = await until(service, id, (server) => server.status === 'running' && server.pid !== pid)
    expect(after.restart_count).toBe(1)
  })

  test('the resources of a server are those of all its processes, and a stop leaves none of them', async () => {
    const service = await openTestService({ platform })
    const { id } = await register(service, 'forker', ['--children=2'])
    expect((await post(service, `/api/servers/${id}/start?wait_s=60`)).statusCode).toBe(200)
    const { pid = 0, resources } = await until(service, id, (server) => server.resources?.processes === 3)
    expect(resources?.rss_bytes).toBeGreaterThan(10 * 1024 * 1024)
    expect((await post(service, `/api/servers/${id}/stop`)).statusCode).toBe(200)
    await platform.table.refresh()
    const left = allProcesses(platform.table).filter(({ group, zombie }) => group === pid && !zombie)
    expect(left).toEqual([])
  })

  test.runIf(spawnSync('lsof', ['-v']).status === 0)(
    'a server that has lost its agent is found, and ended',
    async () => {
      const { pid } = await leaveBehind({ way: 'pipe' })
      const mark = 'OUR_MARK=abc'
      const found = await findOrphans({ table: platform.table, mark })
      const orphan = found.find((each) => each.pid === pid)
      expect(orphan).toMatchObject({ pid, owner: userInfo().username, processes: 1 })
      expect(await endOrphan(orphan?.id ?? '', { platform, mark })).toMatchObject({ outcome: 'ended' })
    },
  )
})
