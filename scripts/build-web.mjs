// Builds the dashboard into a folder. Called by build.mjs when a file of it has changed.
import { resolve } from 'node:path'
import { build } from 'vite'
import { packagesOf, root } from './lib.mjs'

/**
 * @param {string} outDir absolute, or relative to the root of the repository
 * @returns the packages whose code is in the build
 */
export async function buildWeb(outDir, mode = 'production') {
  if (mode === 'production') process.env.NODE_ENV = mode // a caller's own value would choose React's slow build
  const { output } = await build({
    configFile: resolve(root, 'web/vite.config.ts'),
    mode,
    logLevel: 'warn',
    build: { outDir: resolve(root, outDir), emptyOutDir: false },
  })
  return packagesOf(output)
}
