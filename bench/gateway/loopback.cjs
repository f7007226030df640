// node --require this: a program that listens on a port gets a free one on loopback instead, and prints it.
const { Server } = require('node:net')

const { listen } = Server.prototype
Server.prototype.listen = function (...args) {
  this.once('listening', () => console.log(`ready at http://127.0.0.1:${this.address().port}`))
  const ready = args.findLast((each) => typeof each === 'function')
  return listen.call(this, 0, '127.0.0.1', ready)
}
