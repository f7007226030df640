// npm run screenshots: takes the pictures in docs/images again, in light and in dark, with a service and a home of its own
// that has plausible servers, agents and calls. Needs Chromium and a free port 8665.
//   npm run screenshots -- agents home      only these
import { join } from 'node:path'
import { root, runTool } from './lib.mjs'
import { prepare } from './prepare.mjs'
import { findSystemTools } from './system-tools.mjs'

const SCREENSHOTS = 'test/web/screenshots.test.ts'

await prepare()
const only = process.argv.slice(2).join(',')
const env = {
  ...(await findSystemTools([SCREENSHOTS])).env,
  TOOLROOM_SCREENSHOTS: join(root, 'docs/images'),
  ...(only && { TOOLROOM_SCREENSHOTS_ONLY: only }),
}
const { code } = await runTool('vitest', ['run', SCREENSHOTS], { env })
process.exitCode = code
