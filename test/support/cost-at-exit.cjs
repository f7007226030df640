// Loaded before a program with --require: at its end, writes what it cost into the file that COST_FILE names.
const { writeFileSync } = require('node:fs')

process.once('exit', () => {
  const { user, system } = process.cpuUsage()
  const modules = process.moduleLoadList
    .filter((name) => /^NativeModule [a-z_]+$/.test(name))
    .map((name) => name.slice('NativeModule '.length))
  writeFileSync(process.env.COST_FILE, JSON.stringify({ cpuMs: (user + system) / 1000, modules }))
})
