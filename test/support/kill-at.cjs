// Loaded before the service: ends it with SIGKILL before or after one call of `node:fs` on a certain path.
// KILL_AT is {"call": "renameSync", "path": "<regular expression>", "when": "before" | "after"}.
const fs = require('node:fs')
const { syncBuiltinESMExports } = require('node:module')

const { call, path, when } = JSON.parse(process.env.KILL_AT)
const pattern = new RegExp(path)
const original = fs[call]
const end = (moment, args) => {
  const isHere = args.some((arg) => typeof arg === 'string' && pattern.test(arg))
  if (isHere && moment === when) process.kill(process.pid, 'SIGKILL')
}
fs[call] = (...args) => {
  end('before', args)
  const result = original(...args)
  end('after', args)
  return result
}
syncBuiltinESMExports()
