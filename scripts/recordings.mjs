// npm run recordings: writes docs/recordings again. The built program runs in a real terminal of 80×24, with a home and an npm
// registry of its own. Needs tmux. The text is what the terminal showed, except for what no reader has: the home folder, the
// port and the one-time code (see test/cli/recordings.test.ts).
import { join } from 'node:path'
import { root, runTool } from './lib.mjs'
import { prepare } from './prepare.mjs'

await prepare()
const env = { TOOLROOM_RECORDINGS: join(root, 'docs/recordings') }
const { code } = await runTool('vitest', ['run', 'test/cli/recordings.test.ts'], { env })
process.exitCode = code
