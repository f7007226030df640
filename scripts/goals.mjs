// npm run goals: the tests of test/goals at full length. `npm test` runs a short version of the same files.
import { runTool } from './lib.mjs'
import { prepare } from './prepare.mjs'

const PATIENCE_MS = 30 * 60_000

await prepare()
const limits = [`--testTimeout=${PATIENCE_MS}`, `--hookTimeout=${PATIENCE_MS}`, '--no-file-parallelism']
const args = ['run', 'test/goals', ...limits, ...process.argv.slice(2)]
const { code } = await runTool('vitest', args, { env: { TOOLROOM_GOALS: 'full' } })
process.exitCode = code
