import type { Platform } from '../platform.ts'
import type { ProcessTable } from '../process-table.ts'
import { INHERITED_EVERYWHERE } from '../spawning.ts'
import { endForeign } from './end-foreign-processes-on-unix.ts'
import { resolveOnUnix } from './find-program-on-unix.ts'
import { Reaper, reaperScript } from './reaper.ts'
import type { Kill } from './signals.ts'
import { UnixProcessGroups } from './unix-process-groups.ts'

/** How Linux and macOS differ. */
interface System {
  readonly name: 'linux' | 'darwin'
  readonly table: ProcessTable
  /** The errors of a signal to a group without living members. */
  readonly emptyGroup: readonly string[]
  /** For the script of the reaper. */
  readonly shellFunctions: string
  readonly startText: (startedAt: number) => string
  readonly cgroupFor: (mark: string) => string | undefined
  readonly kill?: Kill
  readonly mayNotAnswer?: Platform['mayNotAnswer']
}

const KILL: Kill = (pid, signal) => void process.kill(pid, signal)

export function unixPlatform({
  name,
  table,
  kill = KILL,
  mayNotAnswer = () => false,
  ...system
}: System): Platform {
  return {
    resolve: (command, place) => resolveOnUnix(command, place, name),
    mayNotAnswer,
    inherited: INHERITED,
    warnings: [],
    loginShell: () => (process.env.SHELL?.startsWith('/') ? process.env.SHELL : undefined),
    table,
    endForeign: (tree) => endForeign(table, tree),
    openProcessGroups: async ({ marks, wasKilled, onTrouble }) => {
      const { emptyGroup, startText, shellFunctions, cgroupFor } = system
      const mark = marks.ofRun
      const script = reaperScript(shellFunctions)
      const reaper = new Reaper({ mark, cgroup: cgroupFor(mark), onTrouble, script, startText })
      const groups = new UnixProcessGroups({ table, kill, emptyGroup, inherited: INHERITED, marks, reaper })
      if (wasKilled) await groups.endLeftovers()
      return groups
    },
  }
}

/** The variables that a child inherits on Linux and macOS. Those of XDG name the folders of the user. */
export const INHERITED: readonly string[] = [
  'HOME',
  'LOGNAME',
  'PATH',
  'SHELL',
  'TERM',
  'USER',
  'XDG_CACHE_HOME',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_RUNTIME_DIR',
  'XDG_STATE_HOME',
  ...INHERITED_EVERYWHERE,
]
