import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { leastCpuMs } from '../../../../test/support/measuring.ts'
import { PS_ENVIRONMENT, PS_FIELDS, parsePs, startText } from './ps-table.ts'

/** As printed by the ps of macOS. */
const MACOS = `    1     0     1 Ss   Sun Nov  1 08:15:02 2026    25:17.33   21424 root             /sbin/launchd
  501     1   501 S    Mon Nov 16 18:02:51 2026  1234:56.78  812432 anna             /Applications/Visual Studio Code.app/Contents/MacOS/Electron --type=renderer
  733   501   733 Z    Mon Nov 16 18:03:00 2026     0:00.00       0 anna             <defunct>
 9001   501   501 S+   Mon Nov 16 18:03:07 2026     0:00.42   54112 anna             node /Users/anna/My Servers/mcp-server.js  --root  /tmp
ps: a warning that is not a process
`

test('the ps of macOS is read with minutes beyond an hour, zombies, and spaces in paths and arguments', () => {
  const processes = parsePs(MACOS)
  expect([...processes.keys()]).toEqual([1, 501, 733, 9001])
  expect(processes.get(501)).toEqual({
    pid: 501,
    name: 'Visual',
    parent: 1,
    group: 501,
    session: 501,
    startedAt: Date.UTC(2026, 10, 16, 18, 2, 51),
    zombie: false,
    cpuMs: (1234 * 60 + 56.78) * 1000,
    rssBytes: 812_432 * 1024,
    owner: 'anna',
    command: '/Applications/Visual Studio Code.app/Contents/MacOS/Electron --type=renderer',
  })
  expect(processes.get(733)).toMatchObject({ zombie: true, parent: 501 })
  expect(processes.get(9001)?.command).toBe('node /Users/anna/My Servers/mcp-server.js  --root  /tmp')
})

test.runIf(process.platform !== 'win32')('the ps of this system goes through the same parser', () => {
  const env = { ...PS_ENVIRONMENT, PATH: process.env.PATH }
  const processes = parsePs(execFileSync('ps', ['-A', '-ww', '-o', PS_FIELDS], { env, encoding: 'utf8' }))
  const me = processes.get(process.pid)
  expect(me).toMatchObject({ pid: process.pid, parent: process.ppid, zombie: false })
  expect(Math.abs((me?.startedAt ?? 0) - (Date.now() - process.uptime() * 1000))).toBeLessThan(5000)
})

test('days in the CPU time are read', () => {
  const line = '  7  1  7 S Mon Nov 16 18:02:51 2026 2-03:04:05 100 root x'
  expect(parsePs(line).get(7)?.cpuMs).toBe(((2 * 24 + 3) * 3600 + 4 * 60 + 5) * 1000)
})

test('500 processes are read in less than 60 ms of CPU time', async () => {
  const text = MACOS.repeat(125)
  parsePs(text)
  expect(await leastCpuMs(() => parsePs(text))).toBeLessThan(60)
})

test('the start time has one form for the script of the reaper, with no zero before the day', () => {
  expect(startText(Date.UTC(2026, 10, 1, 8, 15, 2))).toBe('Sun_Nov_1_08.15.02_2026')
})
