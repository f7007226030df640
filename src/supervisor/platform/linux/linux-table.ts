import { readFileSync } from 'node:fs'
import type { ProcessTable } from '../process-table.ts'
import { isAdopted, userName } from '../unix/adoption.ts'
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

/** A systemd unit has its own pid in this variable. An adopted process has another one, or none. */
const startedBySystemd = (pid: number): string => `SYSTEMD_EXEC_PID=${pid}\0`

const uptimeS = (): number => Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0])
