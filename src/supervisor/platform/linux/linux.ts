import { readFileSync } from 'node:fs'
import type { Platform } from '../platform.ts'
import { isAdopted, type ProcessTable } from '../process-table.ts'
import { unixPlatform } from '../unix/unix.ts'
import { cgroupFor } from './cgroups.ts'
import { isOnForeignDisk } from './network-mounts.ts'
import {
  commandLine,
  isInContainer,
  isMarked,
  listPids,
  newestPid,
  processesMarked,
  readProcess,
  standardInput,
  TICKS_PER_S,
  userId,
} from './proc.ts'

/** The process table of Linux: files in /proc, which are always current. */
export const linuxTable: ProcessTable = {
  isCurrent: true,
  refresh: async () => {},
  newest: newestPid,
  pids: listPids,
  read: readProcess,
  commandLine,
  marked: async (...entries) => processesMarked(...entries),
  details: async ({ pid, startedAt }) => {
    return {
      owner: userName(userId(pid) ?? ''),
      ageS: Math.max(0, Math.round(uptimeS() - startedAt / TICKS_PER_S)),
      input: /^(?:pipe|socket):/.test(standardInput(pid) ?? '') ? 'pipe' : 'other',
      // In a container, init is a normal parent. Without its environment, a process may be a unit.
      isManaged: isMarked(pid, startedBySystemd(pid)) !== false || isInContainer(pid),
    }
  },
  hasLostParent: (facts) => isAdopted(facts, readProcess(facts.parent)),
}

/** The number itself if the user has no name. */
function userName(id: string): string {
  try {
    const lines = readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
    return lines.find(([, , uid]) => uid === id)?.[0] ?? id
  } catch {
    return id // no /etc/passwd
  }
}

/** A systemd unit has its own pid in this variable. An adopted process has another one, or none. */
const startedBySystemd = (pid: number): string => `SYSTEMD_EXEC_PID=${pid}\0`

const uptimeS = (): number => Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0])

/** For the reaper: reads /proc. A process may have any name. */
export const LINUX_FUNCTIONS = `
read_table() { :; }

start_of() {
  stat=
  [ -r "/proc/$1/stat" ] && while read -r line; do stat="$stat $line"; done <"/proc/$1/stat"
  set -- \${stat##*) }
  start=\${20}
}

list_processes() {
  cat /proc/[0-9]*/stat 2>/dev/null | awk 'match($0, /^[0-9]+ .*\\) /) {
    split(substr($0, RLENGTH + 1), field, " ")
    print $1, field[2], field[4], field[20]
  }'
}

list_marked() {
  for file in $(grep -alF "$mark" /proc/[0-9]*/environ 2>/dev/null); do
    file=\${file#/proc/}
    echo "\${file%/environ}"
  done
}
`

export const platform: Platform = unixPlatform({
  name: 'linux',
  table: linuxTable,
  emptyGroup: ['ESRCH'],
  shellFunctions: LINUX_FUNCTIONS,
  startText: String,
  cgroupFor,
  mayNotAnswer: (paths) => isOnForeignDisk(paths),
})
