// Records what a process does to files, in order: `record(onOperation)` in this process, or `node --require` this file
// with TOOLROOM_OPERATIONS set to the file that gets one JSON line per operation. SQLite's own writes are not recorded.
const { createHash } = require('node:crypto')
const fs = require('node:fs')
const { syncBuiltinESMExports } = require('node:module')
const { resolve } = require('node:path')

const exists = fs.existsSync
const fstat = fs.fstatSync
const write = fs.writeSync

/** @returns a function that ends the recording */
function record(onOperation) {
  const before = {}
  const patch = (name, wrap) => {
    before[name] = fs[name]
    fs[name] = wrap(fs[name].bind(fs))
  }
  const digest = (data) => createHash('sha1').update(data).digest('hex').slice(0, 12)
  const paths = (name) =>
    patch(name, (call) => (from, to, ...more) => {
      const result = call(from, to, ...more)
      onOperation({ op: name.replace('Sync', ''), from: resolve(String(from)), to: resolve(String(to)) })
      return result
    })
  patch('openSync', (call) => (path, flags, ...more) => {
    const full = resolve(String(path))
    const created = !exists(full)
    const fd = call(path, flags, ...more)
    const folder = fstat(fd).isDirectory()
    onOperation({
      op: 'open',
      path: full,
      fd,
      created,
      folder,
      emptied: !created && /^w/.test(String(flags)),
    })
    return fd
  })
  patch('writeSync', (call) => (fd, data, ...more) => {
    const written = call(fd, data, ...more)
    onOperation({ op: 'write', fd, data: `${written} ${digest(data)}` })
    return written
  })
  patch('writeFileSync', (call) => (path, data, ...more) => {
    const full = resolve(String(path))
    const created = !exists(full)
    call(path, data, ...more)
    onOperation({ op: 'writeFile', path: full, created, data: digest(data) })
  })
  for (const name of ['fsyncSync', 'fdatasyncSync'])
    patch(name, (call) => (fd) => {
      call(fd)
      onOperation({ op: 'fsync', fd })
    })
  patch('closeSync', (call) => (fd) => {
    call(fd)
    onOperation({ op: 'close', fd })
  })
  for (const name of ['renameSync', 'linkSync']) paths(name)
  patch('symlinkSync', (call) => (target, path, ...more) => {
    call(target, path, ...more)
    onOperation({ op: 'symlink', path: resolve(String(path)), data: String(target) })
  })
  for (const name of ['rmSync', 'unlinkSync', 'rmdirSync'])
    patch(name, (call) => (path, ...more) => {
      const full = resolve(String(path))
      const there = exists(full)
      call(path, ...more)
      if (there) onOperation({ op: 'remove', path: full })
    })
  patch('mkdirSync', (call) => (path, ...more) => {
    const made = call(path, ...more)
    const recursive = typeof more[0] === 'object' && more[0].recursive
    if (!recursive) onOperation({ op: 'mkdir', path: resolve(String(path)), top: resolve(String(path)) })
    else if (made !== undefined) onOperation({ op: 'mkdir', path: resolve(String(path)), top: resolve(made) })
    return made
  })
  syncBuiltinESMExports()
  return () => {
    Object.assign(fs, before)
    syncBuiltinESMExports()
  }
}

if (process.env.TOOLROOM_OPERATIONS) {
  const file = fs.openSync(process.env.TOOLROOM_OPERATIONS, 'a')
  record((operation) => write(file, `${JSON.stringify(operation)}\n`))
}

module.exports = { record }
