// Loaded into a service before its own code: on SIGUSR2 it collects its garbage, which V8 would delay, and writes the
// memory that remains into its home directory.
const { renameSync, writeFileSync } = require('node:fs')
const { isMainThread } = require('node:worker_threads')

require('node:v8').setFlagsFromString('--expose-gc')
const collect = require('node:vm').runInNewContext('gc')
const file = `${process.env.HOME}/memory.json`

if (isMainThread)
  process.on('SIGUSR2', () => {
    collect()
    writeFileSync(`${file}.tmp`, JSON.stringify(process.memoryUsage()))
    renameSync(`${file}.tmp`, file)
  })
