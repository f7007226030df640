import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { listenerInLsof, listenerInNetstat, processListening } from './port-owner.ts'

/** `lsof -nP -iTCP:8665 -sTCP:LISTEN -Fpc` on macOS. */
const LSOF = 'p4711\ncnode\nf22\nf23\n'

/** `netstat -ano -p TCP` of a Windows in German, whose columns are the same. */
const NETSTAT = `
Aktive Verbindungen

  Proto  Lokale Adresse         Remoteadresse          Status           PID
  TCP    0.0.0.0:135            0.0.0.0:0              ABHÖREN         1032
  TCP    127.0.0.1:18665        0.0.0.0:0              ABHÖREN         77
  TCP    127.0.0.1:52110        127.0.0.1:8665         HERGESTELLT     9120
  TCP    127.0.0.1:8665         127.0.0.1:52110        HERGESTELLT     4711
  TCP    127.0.0.1:8665         0.0.0.0:0              ABHÖREN         4711
`

test('the listener of a port on macOS is the process that lsof names', () => {
  expect(listenerInLsof(LSOF)).toBe('node (process 4711)')
  expect(listenerInLsof('')).toBeUndefined()
})

test('the listener of a port on Windows is found in netstat of any language', () => {
  expect(listenerInNetstat(NETSTAT, 8665)).toBe('4711')
  expect(listenerInNetstat(NETSTAT, 52110)).toBeUndefined()
  expect(listenerInNetstat('', 8665)).toBeUndefined()
})

test('the process that listens on a port is found, or is not named at all', async () => {
  const server = createServer()
  onTestFinished(() => void server.close())
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as { port: number }
  const found = await processListening(port)
  if (process.platform === 'linux') expect(found).toContain(`(process ${process.pid})`)
  else expect(found ?? `process ${process.pid}`).toContain(`process ${process.pid}`)
})

test('a system without the programs that know the listener names none', async () => {
  const before = process.env.PATH
  onTestFinished(() => {
    process.env.PATH = before
  })
  process.env.PATH = ''
  expect(await processListening(1, 'darwin')).toBeUndefined()
  expect(await processListening(1, 'win32')).toBeUndefined()
})
