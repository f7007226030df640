import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { ownFolder } from './folder.ts'

/** The path of a JavaScript file made from TypeScript, to run it as a process of its own. */
export async function bundled(source: string): Promise<string> {
  const folder = ownFolder()
  const input = join(folder, 'source.ts')
  writeFileSync(input, source)
  const bundler = await rolldown({ input, platform: 'node' })
  await bundler.write({ dir: folder, format: 'esm', entryFileNames: 'main.mjs' })
  await bundler.close()
  return join(folder, 'main.mjs')
}
