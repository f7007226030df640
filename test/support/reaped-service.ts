import { Child } from '../../src/supervisor/child.ts'
import { Reaper } from '../../src/supervisor/reaper.ts'

/** A service in small: a reaper, and children of the worst kinds. Says when all of them are there, then waits to be killed. */
const [mark = '', ...scripts] = process.argv.slice(2)
const reaper = new Reaper({ mark, onTrouble: (message) => console.error(message) })
for (const script of scripts) {
  const child = await Child.start({
    path: process.execPath,
    args: ['-e', script],
    cwd: undefined,
    env: {},
    mark: `${mark}/server`,
  })
  reaper.watch(child.group.leader)
}
process.on('SIGTERM', () => void reaper.close().then(() => process.exit(0)))
console.log(`ready ${reaper.pid}`)
setInterval(() => {}, 1000)
