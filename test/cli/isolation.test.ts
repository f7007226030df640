import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { cliEnv, runCli } from '../support/cli.ts'
import { canRun, startEngine } from '../support/engines.ts'
import { onDisk, ownFolder } from '../support/folder.ts'
import { imageRegistry } from '../support/image-registry.ts'
import { givenToServers, PLACES } from '../support/places.ts'
import { get, post, register } from '../support/running-servers.ts'
import { openTestService } from '../support/test-service.ts'

onDisk()

const FILESYSTEM = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-filesystem/dist/index.js',
)
const hasSandbox = PLACES.some(({ name, isThere }) => name === 'sandbox' && isThere)

/** A folder of notes that is in no home, and a service. */
async function opened() {
  const service = await openTestService()
  const notes = join(ownFolder(), 'notes')
  mkdirSync(notes)
  givenToServers(notes)
  const cli = (...argv: string[]) => runCli(cliEnv(service), argv)
  const call = (name: string) =>
    `--call=write_file=${JSON.stringify({ path: join(notes, name), content: 'hello' })}`
  return { service, notes, cli, call, definition: ['--', process.execPath, FILESYSTEM, notes] }
}

describe.skipIf(!hasSandbox)('with bubblewrap', () => {
  test('a trial names the refused write and the command that allows it, and after --apply the call works', async () => {
    const { service, notes, cli, call, definition } = await opened()
    const added = await cli('add', 'files', '--isolation', 'sandbox', '--read', notes, ...definition)
    expect(added.code, added.stderr).toBe(0)
    expect(added.stdout).toContain(`\n  place  in a sandbox: may read ${notes}, no network\n`)
    const listed = (await cli('ls')).stdout
    expect(listed).toMatch(/^ {2}files +◇ not tried +sandbox +- /m)
    expect((await cli('info', 'files')).stdout).toContain(`in a sandbox: may read ${notes}, no network\n`)

    const refused = `EROFS: read-only file system, open '${notes}/a.md'`
    const tried = await cli('trial', 'files', call('a.md'))
    expect(tried.stdout.replace(/\d+ tools/, 'N tools').split('\n')).toEqual([
      '✓ files started in a sandbox: N tools',
      `✕ write_file: ${refused}`,
      'According to its own errors, the isolation refused it:',
      `✕ to change ${notes}`,
      `    ${refused}`,
      'What it did not try was not seen: it may need more than this.',
      'Nothing was changed. This allows it:',
      `  toolroom edit files --write ${notes}`,
      '',
    ])
    expect(tried.code).toBe(7)
    expect(await get(service, 'files')).toMatchObject({ isolation_options: { write: [], read: [notes] } })

    const applied = await cli('trial', 'files', call('a.md'), '--apply', '--json')
    expect(applied).toMatchObject({ code: 0 })
    expect(JSON.parse(applied.stdout)).toMatchObject({ ok: true, applied: true, refused: [{ path: notes }] })
    expect(await get(service, 'files')).toMatchObject({ isolation_options: { write: [notes], read: [] } })
    expect((await cli('start', 'files')).code).toBe(0)
    const written = await cli('call', 'files', 'write_file', `path=${notes}/b.md`, 'content=hello')
    expect(written, written.stdout).toMatchObject({ code: 0 })
    expect(readFileSync(join(notes, 'b.md'), 'utf8')).toBe('hello')
    const fine = await cli('trial', 'files', call('c.md'))
    expect(fine).toMatchObject({ code: 0 })
    expect(fine.stdout).toContain(
      'The isolation refused nothing that it tried. What it did not try was not seen',
    )
    expect(fine.stdout).toContain('files runs with this isolation already.\n')
    expect(fine.stdout).not.toContain('not needed')

    const closed = await cli('edit', 'files', '--close', notes)
    expect(closed.stdout).toContain('files runs in a sandbox: no network.\n')
    const failed = await cli('trial', 'files', call('d.md'), '--json')
    expect(failed.code).toBe(1)
    expect(JSON.parse(failed.stdout)).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/\S/),
      hint: `Allow it with toolroom edit files --read ${notes}`,
      edit_command: `toolroom edit files --read ${notes}`,
      applied: false,
    })
    expect((await cli('trial', 'files', call('d.md'))).stdout).toContain('- write_file was not called\n')
    expect(existsSync(join(notes, 'd.md'))).toBe(false)
  })

  test('trial --apply alone puts a server without isolation into a sandbox with what it needs to start', async () => {
    const { service, notes, cli, definition } = await opened()
    await cli('add', 'files', ...definition)
    const { code, stdout } = await cli('trial', 'files', '--apply')
    expect({ code, stdout }).toMatchObject({ code: 0 })
    expect(stdout).toMatch(/^✓ files started in a sandbox: \d+ tools$/m)
    expect(stdout).toContain(`✕ to read ${notes}\n`)
    expect(stdout).toContain(`Changed: files runs in a sandbox: may read ${notes}, no network.\n`)
    expect(await get(service, 'files')).toMatchObject({
      isolation: 'sandbox',
      isolation_options: { write: [], read: [notes] },
    })
  })

  test('confinement that refused something although the server works are exit code 9, and a server that never starts is not changed', async () => {
    const { service, cli } = await opened()
    await register(service, 'echo')
    await register(service, 'crash')
    const text = "EROFS: read-only file system, open '/usr/lib/x'"
    const partly = await cli('trial', 'echo', `--call=echo=${JSON.stringify({ text })}`, '--plain')
    expect(partly.code).toBe(9)
    expect(partly.stdout).toBe(
      `start\techo\tok\t-\ncall\techo\tok\t${text}\nrefused\twrite\t/usr/lib\t${text}\n`,
    )
    const never = await cli('trial', 'crash', '--apply')
    expect(never.code).toBe(1)
    expect(never.stdout).toMatch(/^✕ crash did not start in a sandbox: .*\n[\s\S]*Nothing was changed\.\n$/)
    expect(await get(service, 'crash')).toMatchObject({ isolation: 'none' })
  })
})

test.skipIf(process.platform === 'win32')(
  'where the system refuses a sandbox, why and trial say so with what helps, and the server does not run',
  async () => {
    onTestFinished(() => void vi.unstubAllEnvs())
    const programs = ownFolder()
    const bwrap = '#!/bin/sh\necho "bwrap: No permissions to create a new namespace" >&2\nexit 1\n'
    writeFileSync(join(programs, 'bwrap'), bwrap, { mode: 0o755 })
    vi.stubEnv('PATH', `${programs}:${process.env.PATH}`)
    const { service, cli } = await opened()
    await register(service, 'echo', [], { isolation: 'sandbox' })
    await post(service, '/api/servers/echo/start')
    const why = await cli('why', 'echo')
    expect(why.code).toBe(1)
    expect(why.stdout).toMatch(/^✕ echo: .*the system refused a sandbox \(bwrap: No permissions/)
    expect(why.stdout).toMatch(/^ {2}Runs: +in a sandbox: no network$/m)
    expect(why.stdout).toMatch(/^ {2}Try: +\S/m)
    expect(why.stdout).toMatch(/^ {19}Or let it run without isolation: toolroom edit echo --isolation none$/m)
    expect(why.stdout).not.toContain('toolroom trial')
    const tried = await cli('trial', 'echo', '--apply')
    expect(tried.code).toBe(1)
    expect(tried.stdout).toMatch(/^✕ echo did not start in a sandbox: the system refused a sandbox/)
    expect(tried.stdout).toMatch(/\nOr let it run without isolation: .*\nNothing was changed\.\n$/)
    expect(await get(service, 'echo')).toMatchObject({ isolation: 'sandbox', pid: null })
  },
)

test('without a container engine, why says how to start one', async () => {
  onTestFinished(() => void vi.unstubAllEnvs())
  vi.stubEnv('DOCKER_HOST', 'unix:///nowhere/engine.sock')
  const service = await openTestService()
  const cli = (...argv: string[]) => runCli(cliEnv(service), argv)
  const added = await cli('add', 'time', '--isolation=container', '--', 'docker', 'run', '-i', 'mcp/time')
  expect(added.stdout).toContain('  place  in a container: no network, at most 1024 MiB and 256 processes\n')
  expect((await cli('ls')).stdout).toMatch(/^ {2}time +◇ not tried +container /m)
  await post(service, '/api/servers/time/start')
  const { stdout } = await cli('why', 'time', '--json')
  expect(JSON.parse(stdout)).toMatchObject({
    code: 'engine_unavailable',
    hint: expect.stringContaining('Start the container engine of /nowhere/engine.sock'),
  })
})

test('flags for confinement that cannot be are refused with their name, and nothing is changed', async () => {
  const { service, cli } = await opened()
  await register(service, 'echo')
  await post(service, '/api/http-servers', { name: 'Remote docs', url: 'http://127.0.0.1:9/mcp' })
  const refused = async (code: number, stderr: string, ...argv: string[]) =>
    expect(await cli(...argv), argv.join(' ')).toMatchObject({
      code,
      stderr: expect.stringContaining(stderr),
    })
  await refused(
    2,
    "--isolation must be none, sandbox, or container, not 'confinement'",
    'edit',
    'echo',
    '--isolation=confinement',
  )
  await refused(2, '--isolation is for local servers', 'edit', 'remote', '--isolation=sandbox')
  await refused(2, '--write is for local servers', 'add', 'http://127.0.0.1:9/sse', '--write=/srv')
  await refused(2, "--memory must be a whole number, not '1G'", 'edit', 'echo', '--memory=1G')
  await refused(2, 'so there is nothing to close', 'edit', 'echo', '--close=/srv')
  await refused(2, 'isolation_options/image is required', 'edit', 'echo', '--isolation=container')
  await refused(2, 'so it has no isolation here', 'trial', 'remote')
  await refused(2, '--call must be a tool', 'trial', 'echo', '--call=echo=text')
  await refused(5, "No server is called 'ecoh'", 'trial', 'ecoh')
  await refused(
    1,
    'image is required with isolation container',
    'add',
    'c',
    '--isolation=container',
    '--',
    'node',
  )
  await refused(6, 'exists already', 'add', 'echo', '--isolation=sandbox', '--', 'node')
  const server = await get(service, 'echo')
  expect(server).toMatchObject({ isolation: 'none', isolation_options: { memory_mb: 1024 } })
})

test.skipIf(process.platform === 'win32')(
  'a granted path of a server without isolation is stored, and the output says that it has no effect yet',
  async () => {
    const { service, cli } = await opened()
    await register(service, 'echo')
    const { stdout } = await cli('edit', 'echo', '--write', '/srv')
    expect(stdout).toContain('has no effect until you run: toolroom edit echo --isolation sandbox\n')
    expect(await get(service, 'echo')).toMatchObject({ isolation_options: { write: ['/srv'] } })
  },
)

test.skipIf(!canRun('docker'))(
  'with docker a missing image is named with the command that pulls it, which shows its phases',
  async () => {
    onTestFinished(() => void vi.unstubAllEnvs())
    const { socket } = await startEngine('docker')
    vi.stubEnv('DOCKER_HOST', `unix://${socket}`)
    const { service, cli } = await opened()
    const { image, privateImage } = await imageRegistry()
    await cli('add', 'boxed', '--isolation=container', '--image', image, '--', 'sh')
    await post(service, '/api/servers/boxed/start')
    expect((await cli('why', 'boxed')).stdout).toMatch(
      new RegExp(`^ {2}Try: +Download the image with toolroom images pull ${image}$`, 'm'),
    )
    const tried = await cli('trial', 'boxed')
    expect(tried.code).toBe(1)
    expect(tried.stdout).toContain(`Download the image with toolroom images pull ${image}\n`)

    const pulled = await cli('images', 'pull', image)
    expect(pulled, pulled.stderr).toMatchObject({ code: 0 })
    expect(pulled.stdout).toMatch(new RegExp(`^✓ Pulled ${image} \\([0-9a-f]{12}\\)\n$`))
    expect(pulled.stderr).toMatch(/^✓ resolving /m)
    const again = await cli('images', 'pull', image, '--json')
    expect(JSON.parse(again.stdout)).toMatchObject({ image, id: expect.stringMatching(/^sha256:/) })
    const refused = await cli('images', 'pull', privateImage, '--json')
    expect(refused.code).toBe(1)
    expect(JSON.parse(refused.stdout)).toMatchObject({ code: 'image_login_needed' })
  },
)
