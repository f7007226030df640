import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import openapiTS, { astToString } from 'openapi-typescript'
import { expect, test } from 'vitest'
import { ownFolder } from '../support/folder.ts'
import { openTestService, TOKEN } from '../support/test-service.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COPIED = ['package.json', 'tsconfig.json', 'src/api/client', 'test/client']

/** Compiles the flow in a folder of its own, with types that are generated from the document. */
async function compile(document: object): Promise<string> {
  const folder = ownFolder()
  for (const path of COPIED) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const types = astToString(await openapiTS(document as never))
  writeFileSync(join(folder, 'test/client/api.d.ts'), types)
  const tsc = join(ROOT, 'node_modules/ts7/bin/tsc')
  const args = [tsc, '-p', join(folder, 'test/client/tsconfig.json')]
  return promisify(execFile)(process.execPath, args).then(
    () => 'compiled',
    ({ stdout }: { stdout: string }) => stdout,
  )
}

test('a TypeScript client generated from the OpenAPI document compiles, refuses what is not in it, and drives the service', async () => {
  const { address } = await openTestService()
  const document = (await (await fetch(`${address}/docs/json`)).json()) as object
  expect(await compile(document)).toBe('compiled')

  const file = new URL('../client/flow.ts', import.meta.url).href
  const { useService } = await import(/* @vite-ignore */ file)
  const program = join(ROOT, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
  expect(await useService({ address, token: TOKEN, program })).toEqual([
    'settings: true',
    'started: running with 17 tools',
    'tool: echo (ok)',
    'result: true',
    'changed: For tests',
    'logs: true',
    'error: 404 not_found',
    'mistakes: 7',
  ])
})
