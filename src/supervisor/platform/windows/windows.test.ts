import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { platform } from '../../../../test/fixtures/windows-platform.ts'
import { platformContract } from '../../../../test/support/platform.contract.ts'
import { findOrphans } from '../../orphans/orphans.ts'
import { openWindows } from './windows.ts'

describe.runIf(process.platform === 'win32')('Windows', () => {
  platformContract(
    'windows',
    platform,
    new URL('../../../../test/fixtures/windows-platform.ts', import.meta.url),
  )

  /** A folder with files; lines end as batch files require. */
  function folderWith(files: Readonly<Record<string, string>>): string {
    const folder = mkdtempSync(join(tmpdir(), 'toolroom windows & '))
    onTestFinished(() => rmSync(folder, { recursive: true, maxRetries: 10 }))
    for (const [name, text] of Object.entries(files))
      writeFileSync(join(folder, name), text.replaceAll('\n', '\r\n'))
    return folder
  }

  /** Starts a command as a server is started. */
  async function start(command: string, args: readonly string[], cwd: string) {
    const mark = 'TOOLROOM_CHILD=windows'
    const found = platform.resolve(command, { args, cwd, env: process.env })
    if (!found.ok) throw new Error(found.message)
    const onTrouble = (message: string) => expect.unreachable(message)
    const groups = await platform.openProcessGroups({
      marks: { ofFolder: mark, ofRun: mark },
      wasKilled: false,
      onTrouble,
    })
    const child = await groups.start({ ...found, env: {}, mark })
    onTestFinished(() => child.end())
    return child
  }

  async function outputOf(...started: Parameters<typeof start>): Promise<string> {
    const child = await start(...started)
    const chunks: Buffer[] = []
    child.output.on('data', (chunk) => chunks.push(chunk))
    await once(child.output, 'end')
    return Buffer.concat(chunks).toString('utf8').trim()
  }

  /** The pid of a process whose parent, a batch file, has ended. */
  async function leftChild() {
    const folder = folderWith({
      'leave.cmd': `@start /b "" "${process.execPath}" "%~dp0example-mcp-server.cjs"\n`,
      'example-mcp-server.cjs': 'console.log(process.pid); setInterval(() => {}, 1000)',
    })
    const child = await start('.\\leave.cmd', [], folder)
    const [text] = await once(child.output, 'data')
    await child.ended
    return { child, pid: Number(String(text)) }
  }

  const isAlive = (pid: number): boolean => {
    const facts = platform.table.read(pid)
    return facts !== undefined && !facts.zombie
  }

  test('a child whose parent has ended is counted, and is ended with the server', async () => {
    const { child, pid } = await leftChild()
    expect((await child.usage())?.map((used) => used.pid)).toContain(pid)
    expect(isAlive(pid)).toBe(true)
    await child.end()
    expect(isAlive(pid)).toBe(false)
  })

  test('a server is leaked only if its parent has ended, and it is none of ours', async () => {
    const { pid } = await leftChild()
    const mark = 'TOOLROOM_CHILD=another'
    const { table } = openWindows() // has started nothing
    const leaked = (await findOrphans({ table, mark })).find((each) => each.pid === pid)
    expect(leaked).toMatchObject({ command: expect.stringContaining('example-mcp-server') })
    expect(leaked?.owner).not.toBe('')
    expect((await findOrphans({ table: platform.table, mark })).map((each) => each.pid)).not.toContain(pid)
    expect((await findOrphans({ table, mark })).map((each) => each.pid)).not.toContain(process.pid)
  })

  test('a batch file gets its arguments as they were, and none of them is a command', async () => {
    const folder = folderWith({
      'show.cmd': '@node "%~dp0show.cjs" %*\n@rem not a shim\n',
      'show.cjs': 'console.log(JSON.stringify(process.argv.slice(2)))',
    })
    const args = ['a b', '', 'x&y|z<>', '%PATH%', '^', 'a"&echo b', 'c\\', 'd\\"e', "(it's)!", 'ü,;=']
    expect(JSON.parse(await outputOf('.\\show.cmd', args, folder))).toEqual(args)
  })

  test.each(['npm', 'npx'])('%s is started without a shell', async (command) => {
    const found = platform.resolve(command, { args: ['--version'], cwd: tmpdir(), env: process.env })
    expect(found).toMatchObject({ ok: true, path: expect.stringMatching(/\\node\.exe$/i) })
    expect(await outputOf(command, ['--version'], tmpdir())).toMatch(/^\d+\.\d+\.\d+$/)
  })

  test('without koffi a server is ended with its children, and what is not known is not given', async () => {
    const without = openWindows(() => {
      throw new Error("Cannot find module 'koffi'")
    })
    expect(without.warnings).toEqual([expect.stringContaining("Cannot find module 'koffi'")])
    const mark = 'TOOLROOM_CHILD=windows'
    const options = { marks: { ofFolder: mark, ofRun: mark }, wasKilled: false, onTrouble: () => {} }
    const groups = await without.openProcessGroups(options)
    const script = `require('child_process').spawn(process.execPath, ['-e', 'console.log(process.pid); setInterval(() => {}, 1000)'], { stdio: 'inherit' })`
    const launch = { path: process.execPath, args: ['-e', script], cwd: undefined, env: {}, mark }
    const child = await groups.start(launch)
    const [text] = await once(child.output, 'data')
    expect(await child.usage()).toBeUndefined()
    await child.end()
    expect(isAlive(Number(String(text)))).toBe(false)
    expect(isAlive(child.pid)).toBe(false)
  })
})
