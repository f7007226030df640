// Builds the dashboard into a folder. Called by build.mjs when a file of it has changed.
import { join } from 'node:path'
import { build } from 'vite'
import { root } from './lib.mjs'

/** @param {string} outDir relative to the root of the repository */
export async function buildWeb(outDir, mode = 'production') {
  await build({
    configFile: join(root, 'web/vite.config.ts'),
    mode,
    logLevel: 'warn',
    build: { outDir: join(root, outDir), emptyOutDir: false },
  })
}
