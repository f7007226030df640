import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { AUTHORISED, openTestService } from '../../../test/support/test-service.ts'
import { AppError } from '../../kernel/errors.ts'
import { readForeign, readForeignHead, UnsafeFile } from '../../kernel/files/foreign-file.ts'
import { readConfig } from './read-config.ts'

const GOOD = '{"mcpServers":{}}'
const FROM_FIFO = '{"mcpServers":{"from":"the fifo"}}'

/**
 * Replaces a file by a FIFO and back, as fast as possible, in another process. It feeds every reader that waits at the
 * FIFO, so that a program that waits goes on and is found by what it read.
 */
async function swapping(path: string): Promise<void> {
  const [file, fifo] = [`${path}.file`, `${path}.fifo`]
  writeFileSync(file, GOOD)
  execFileSync('mkfifo', [fifo])
  const script = `
    const fs = require('node:fs')
    const [path, file, fifo] = process.argv.slice(1)
    const put = (source) => { fs.linkSync(source, path + '.new'); fs.renameSync(path + '.new', path) }
    const feed = () => {
      try {
        const out = fs.openSync(fifo, fs.constants.O_WRONLY | fs.constants.O_NONBLOCK)
        fs.writeSync(out, ${JSON.stringify(FROM_FIFO)})
        fs.closeSync(out)
      } catch {} // nothing waits
    }
    const swap = () => {
      for (let i = 0; i < 200; i += 1) { put(fifo); put(file) }
      feed()
      setImmediate(swap)
    }
    put(file)
    console.log('ready')
    swap()`
  const child = spawn(process.execPath, ['-e', script, path, file, fifo], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  for await (const line of child.stdout) if (String(line).includes('ready')) break
}

/** Windows has no FIFO files, and its links need rights that a user does not have. */
const onUnix = test.skipIf(process.platform === 'win32')

onUnix(
  "a FIFO in place of an agent's file is refused at once, and never waited for (safety rule D3)",
  async () => {
    const home = ownFolder()
    execFileSync('mkfifo', [join(home, '.claude.json')])
    symlinkSync(join(home, '.claude.json'), join(home, 'link'))
    for (const path of ['.claude.json', 'link']) {
      expect(() => readForeign(join(home, path), 100)).toThrow(UnsafeFile)
      expect(() => readForeignHead(join(home, path), 100)).toThrow(UnsafeFile)
      expect(() => readConfig({ path: join(home, path), root: home })).toThrow('is not a regular file')
    }
    const service = await openTestService({ home })
    const reply = await service.inject({ url: '/api/agents/claude-code', headers: AUTHORISED })
    expect(reply.json().scopes[0].problem).toContain('is not a regular file')
  },
)

onUnix(
  "a FIFO swapped in between check and read never reaches the reader of an agent's file (safety rule D3)",
  async () => {
    const home = ownFolder()
    const path = join(home, '.claude.json')
    await swapping(path)
    const seen = { content: 0, refused: 0 }
    const odd: string[] = []
    for (let reads = 0; reads < 4000; reads += 1) {
      try {
        const text = readConfig({ path, root: home })?.text
        if (text === GOOD) seen.content += 1
        else odd.push(String(text))
      } catch (error) {
        if (error instanceof AppError && error.code === 'config_unsafe') seen.refused += 1
        else odd.push(String(error))
      }
    }
    expect(odd).toEqual([])
    expect(seen.content).toBeGreaterThan(0)
    expect(seen.refused).toBeGreaterThan(0)
  },
)

test('a foreign file is read up to its limit, also one that is a folder or larger than the limit (safety rule D3)', () => {
  const folder = ownFolder()
  const path = join(folder, 'file')
  writeFileSync(path, 'x'.repeat(1000))
  mkdirSync(join(folder, 'folder'))
  expect(readForeign(path, 1000).bytes.length).toBe(1000)
  expect(readForeignHead(path, 10).toString()).toBe('xxxxxxxxxx')
  expect(() => readForeign(path, 999)).toThrow('too large')
  expect(() => readForeign(join(folder, 'folder'), 1000)).toThrow('not a regular file')
  expect(() => readForeign(join(folder, 'none'), 1000)).toThrow('ENOENT')
  writeFileSync(path, '')
  expect(readForeign(path, 1000).bytes.length).toBe(0)
})

onUnix(
  'a foreign file that is a link is read or refused, and one that is a device is refused (safety rule D3)',
  () => {
    const folder = ownFolder()
    const [path, link] = [join(folder, 'file'), join(folder, 'link')]
    writeFileSync(path, 'x'.repeat(1000))
    symlinkSync(path, link)
    expect(readForeign(link, 1000, 'follow').stats.size).toBe(1000)
    expect(() => readForeign(link, 1000, 'refuse')).toThrow('ELOOP')
    expect(() => readForeign('/dev/zero', 1000)).toThrow('not a regular file')
  },
)
