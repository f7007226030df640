import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../../../../test/support/folder.ts'
import { WrittenFolders } from '../written-folders.ts'
import { Containers } from './containers.ts'

/** An engine that has one image. */
async function openEngine(folder: string) {
  const asked: string[] = []
  const engine = createServer((request, response) => {
    asked.push(request.url ?? '')
    const isThere = /version|node(?::|%3A)22/.test(request.url ?? '')
    response.writeHead(isThere ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isThere ? { Id: 'sha256:1', Version: '27' } : { message: 'No such image' }))
  })
  const path = join(folder, 'engine.sock')
  await new Promise<void>((resolve) => engine.listen(path, resolve))
  onTestFinished(() => void engine.close())
  return { path, asked }
}

test.skipIf(process.platform === 'win32')(
  'a missing image is known only when the engine was used for something else, which starts none',
  async () => {
    const folder = ownFolder()
    const { path, asked } = await openEngine(folder)
    const containers = new Containers({
      env: { DOCKER_HOST: `unix://${path}` },
      home: folder,
      own: [],
      written: new WrittenFolders(),
      empty: join(folder, 'empty'),
      pinFile: join(folder, 'pins.json'),
      marks: { ofFolder: 'a', ofRun: 'b' } as never,
    })
    const limits = { write: [], read: [], network: 'none', memory_mb: 64, pids: 8 } as const
    const problem = (image: string) => {
      const contained = { command: 'node', args: [], env: {}, cwd: null, options: { ...limits, image } }
      return containers.problem('one', contained)?.code ?? null
    }
    expect(problem('gone:1')).toBeNull()
    expect(asked).toEqual([])
    expect((await containers.ability()).available).toBe(true)
    expect([problem('gone:1'), problem('node:22')]).toEqual([null, null]) // the answer is not awaited
    await expect.poll(() => problem('gone:1')).toBe('image_not_found')
    expect(problem('node:22')).toBeNull()
    expect(asked).toHaveLength(3)
  },
)
