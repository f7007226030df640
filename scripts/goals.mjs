// npm run goals: the promises of the service at full length. `npm test` runs the same files in short form.
import { runTool } from './lib.mjs'
import { prepare } from './prepare.mjs'

const PATIENCE_MS = 30 * 60_000

await prepare()
const limits = [`--testTimeout=${PATIENCE_MS}`, `--hookTimeout=${PATIENCE_MS}`, '--no-file-parallelism']
const args = ['run', 'test/goals', ...limits, ...process.argv.slice(2)]
const { code } = await runTool('vitest', args, { env: { TOOLROOM_GOALS: 'full' } })
process.exitCode = code
