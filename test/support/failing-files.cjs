// node --require this: fails one file operation or database statement. SIGUSR2 reads TOOLROOM_FAULT, a JSON file
// { n, code }: the n-th operation from then on fails. With { n, code, now: true } it counts from the start.
// The file is removed when the operation has failed. After the signal, a file with the same name and .read is written.
const fs = require('node:fs')
const Module = require('node:module')

const file = process.env.TOOLROOM_FAULT
const { existsSync, readFileSync, rmSync, writeFileSync } = fs
/** The error numbers of SQLite for an error of the operating system. */
const SQLITE = {
  EIO: [10, 'disk I/O error'],
  ENOSPC: [13, 'database or disk is full'],
  EMFILE: [14, 'unable to open database file'],
}
let left = 0
let code = ''

function arm(isStart) {
  left = 0
  if (!existsSync(file)) return
  const fault = JSON.parse(readFileSync(file, 'utf8'))
  if (isStart && !fault.now) return
  left = fault.n
  code = fault.code
}

/** Throws for the n-th operation. */
function count(makeError) {
  if (left === 0) return
  left -= 1
  if (left > 0) return
  rmSync(file, { force: true })
  throw makeError()
}

const NAMES = [
  ...['openSync', 'writeSync', 'writeFileSync', 'fsyncSync', 'renameSync', 'linkSync', 'mkdirSync', 'rmSync'],
  ...['unlinkSync', 'readFileSync', 'readdirSync', 'statSync', 'chmodSync', 'symlinkSync'],
]
for (const name of NAMES) {
  const call = fs[name]
  fs[name] = (...args) => {
    if (isOfProgram(args[0])) return call.apply(fs, args)
    count(() => Object.assign(new Error(`${code}: injected, ${name}`), { code, syscall: name, errno: -1 }))
    return call.apply(fs, args)
  }
}
Module.syncBuiltinESMExports()

/** Node reads the files of a program with the same functions. Their failure is Node's, and nothing of ours runs yet. */
function isOfProgram(path) {
  return left > 0 && typeof path === 'string' && path.endsWith('.js') && path.includes('/dist/')
}

const load = Module._load
Module._load = function (id, ...more) {
  const loaded = load.call(this, id, ...more)
  if ((id === 'node:sqlite' || id === '@photostructure/sqlite') && !wrapped.has(loaded)) wrapDriver(loaded)
  return loaded
}
const { dlopen } = process
process.dlopen = (module, ...more) => {
  dlopen.call(process, module, ...more)
  const { exports } = module
  if (exports.DatabaseSync && !wrapped.has(exports)) wrapDriver(exports)
}
const wrapped = new WeakSet()

function wrapDriver(driver) {
  wrapped.add(driver)
  const error = () => {
    const [errcode, message] = SQLITE[code]
    return Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode })
  }
  const wrap = (prototype, names) => {
    for (const name of names) {
      const call = prototype[name]
      prototype[name] = function (...args) {
        count(error)
        return call.apply(this, args)
      }
    }
  }
  const database = new driver.DatabaseSync(':memory:')
  wrap(Object.getPrototypeOf(database), ['exec', 'prepare'])
  wrap(Object.getPrototypeOf(database.prepare('SELECT 1')), ['run', 'get', 'all'])
  database.close()
}

process.on('SIGUSR2', () => {
  arm(false)
  writeFileSync(`${file}.read`, '')
})
arm(true)
