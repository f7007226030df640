import { mkdirSync, readlinkSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// Before each file of tests. Servers inherit the variables of the network, and every Node process that has this one needs
// 50 ms more to start. Tests that reach a registry outside take it from the other name.
const { NODE_EXTRA_CA_CERTS } = process.env
if (NODE_EXTRA_CA_CERTS !== undefined) process.env.TOOLROOM_TEST_CERTIFICATES = NODE_EXTRA_CA_CERTS
delete process.env.NODE_EXTRA_CA_CERTS

// Without it, the services of the tests would ask the login shell for its PATH.
process.env.TERM ||= 'dumb'

// A file may choose the disk instead (test/support/folder.ts).
const { TOOLROOM_TEST_MEMORY } = process.env
if (TOOLROOM_TEST_MEMORY === undefined) delete process.env.TOOLROOM_TEST_FOLDER
else process.env.TOOLROOM_TEST_FOLDER = TOOLROOM_TEST_MEMORY

// Commands are shown as they are typed on this computer. Here toolroom is one, as after an installation.
const checkout = fileURLToPath(new URL('../..', import.meta.url))
const bin = join(checkout, 'node_modules/.cache/toolroom-bin')
if (!process.env.PATH?.split(delimiter).includes(bin)) {
  mkdirSync(bin, { recursive: true })
  const main = join(checkout, 'dist/main.js')
  if (process.platform === 'win32') writeFileSync(join(bin, 'toolroom.cmd'), `@node "${main}" %*\r\n`)
  else linkTo(main)
  process.env.PATH = `${process.env.PATH}${delimiter}${bin}`
}

function linkTo(main: string): void {
  const link = join(bin, 'toolroom')
  // A copy of node_modules brings the link to another checkout. Renaming replaces it in one step, beside other processes.
  if (targetOf(link) === main) return
  const own = `${link}-${process.pid}`
  symlinkSync(main, own)
  renameSync(own, link)
}

function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link)
  } catch {
    return undefined // it is not there yet
  }
}
