import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { cliEnv, runCli } from '../support/cli.ts'
import { onDisk, ownFolder } from '../support/folder.ts'
import { givenToServers, PLACES } from '../support/places.ts'
import { get } from '../support/running-servers.ts'
import { openTestService } from '../support/test-service.ts'

onDisk()

const FILESYSTEM = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-filesystem/dist/index.js',
)
const hasSandbox = PLACES.some(({ name, isThere }) => name === 'sandbox' && isThere)

describe.skipIf(!hasSandbox)('with bubblewrap', () => {
  test('a trial names the files that are lost, and --apply opens the folder that keeps them', async () => {
    const home = ownFolder()
    vi.stubEnv('HOME', home)
    onTestFinished(() => void vi.unstubAllEnvs())
    const service = await openTestService({ home })
    mkdirSync(join(home, 'drafts'))
    givenToServers(home)
    const cli = (...argv: string[]) => runCli(cliEnv(service), argv)
    const call = (tool: string, path: string) =>
      `--call=${tool}=${JSON.stringify({ path: join(home, path), content: 'hello' })}`
    await cli('add', 'files', '--isolation', 'sandbox', '--', process.execPath, FILESYSTEM, home)
    const top = await cli('trial', 'files', call('write_file', 'top.md'))
    expect(top).toMatchObject({ code: 0 })
    expect(top.stdout.split('\n').slice(2)).toEqual([
      'The isolation refused nothing that it tried. What it did not try was not seen: it may need more than this.',
      'It wrote files in memory only. They are lost when it ends:',
      '    ~/top.md',
      'To keep such files, name their folder with --write.',
      'files runs with this isolation already.',
      '',
    ])
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => `drafts/${name}.md`)
    const calls = [call('create_directory', 'drafts'), ...names.map((name) => call('write_file', name))]
    const tried = await cli('trial', 'files', ...calls)
    expect(tried).toMatchObject({ code: 9 })
    expect(tried.stdout).toContain(
      [
        'It wrote files in memory only. They are lost when it ends:',
        ...['a', 'b', 'c', 'd', 'e'].map((name) => `    ~/drafts/${name}.md`),
        '    and 2 other files',
        'Nothing was changed. This allows it:',
        '  toolroom edit files --write ~/drafts',
        '',
      ].join('\n'),
    )
    expect(tried.stdout).not.toContain('According to its own errors')
    expect((await cli('trial', 'files', ...calls, '--plain')).stdout).toContain('lost\t~/drafts/a.md\n')
    expect(await cli('trial', 'files', ...calls, '--apply')).toMatchObject({ code: 0 })
    expect(await get(service, 'files')).toMatchObject({ isolation_options: { write: ['~/drafts'] } })
    const kept = await cli('trial', 'files', call('write_file', 'drafts/h.md'))
    expect(kept.stdout).not.toContain('in memory only')
    expect(readFileSync(join(home, 'drafts/h.md'), 'utf8')).toBe('hello')
  })
})
