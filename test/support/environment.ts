import { mkdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
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
if (process.platform !== 'win32' && !process.env.PATH?.split(delimiter).includes(bin)) {
  const [link, program] = [join(bin, 'toolroom'), join(checkout, 'dist/main.js')]
  mkdirSync(bin, { recursive: true })
  try {
    if (targetOf(link) !== program) {
      rmSync(link, { force: true }) // of the folder that this one was copied from
      symlinkSync(program, link)
    }
  } catch {
    // another process was faster
  }
  process.env.PATH = `${process.env.PATH}${delimiter}${bin}`
}

function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link)
  } catch {
    return undefined // there is none
  }
}
