// node --require this: appends the host and port of every connection that the process opens to the file in
// TOOLROOM_TEST_CONNECTIONS, also those of its threads.
const { appendFileSync } = require('node:fs')
const { Socket } = require('node:net')

const { connect } = Socket.prototype
Socket.prototype.connect = function (...args) {
  const [options] = Array.isArray(args[0]) ? args[0] : args
  const to = options.path ?? `${options.host ?? 'localhost'}:${options.port}`
  appendFileSync(process.env.TOOLROOM_TEST_CONNECTIONS, `${to}\n`)
  return connect.apply(this, args)
}
