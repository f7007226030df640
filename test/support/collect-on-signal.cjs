// Loaded into a service before its own code: on SIGUSR2 it collects its garbage, which V8 would delay, and writes the
// memory that remains into its home directory. With COUNT_STEPS also the CPU time of its main thread: all of it, and the
// longest step between two turns of a timer, which is how long another request has to wait whatever else the machine does.
// Our collections are not part of either.
const { readFileSync, renameSync, writeFileSync } = require('node:fs')
const { isMainThread } = require('node:worker_threads')

require('node:v8').setFlagsFromString('--expose-gc')
const collect = require('node:vm').runInNewContext('gc')
const file = `${process.env.HOME}/memory.json`

if (isMainThread) {
  const steps = process.env.COUNT_STEPS ? countSteps() : undefined
  process.on('SIGUSR2', () => {
    const cost = steps?.take()
    collect()
    writeFileSync(`${file}.tmp`, JSON.stringify({ ...process.memoryUsage(), ...cost }))
    renameSync(`${file}.tmp`, file)
    steps?.forget()
  })
}

function countSteps() {
  const cpuMs = () => Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ', 1)) / 1e6
  let [last, workMs, longestStepMs] = [cpuMs(), 0, 0]
  const endStep = () => {
    const now = cpuMs()
    longestStepMs = Math.max(longestStepMs, now - last)
    workMs += now - last
    last = now
  }
  setInterval(endStep, 10).unref() // not more often: on a busy machine, this would become most of the work
  return {
    /** The longest step is that since the last time. */
    take() {
      endStep()
      const taken = { workMs, longestStepMs }
      longestStepMs = 0
      return taken
    },
    /** The CPU time since `take` was ours. */
    forget() {
      last = cpuMs()
    },
  }
}
