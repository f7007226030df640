import type { Platform } from '../platform.ts'
import type { Kill } from '../unix/signals.ts'
import { unixPlatform } from '../unix/unix.ts'
import { PsTable, startText } from './ps-table.ts'

interface Options {
  /** The option of `ps` that appends the environment to the command. */
  readonly environmentFlag?: string
  readonly kill?: Kill
}

/** macOS has no /proc, so `ps` is asked. The options are for a test on another system. */
export const darwinWith = ({ environmentFlag = '-E', ...options }: Options = {}): Platform =>
  unixPlatform({
    name: 'darwin',
    table: new PsTable(environmentFlag),
    emptyGroup: ['ESRCH', 'EPERM'], // EPERM: all members of the group are zombies
    shellFunctions: darwinFunctions(environmentFlag),
    startText,
    cgroupFor: () => undefined,
    ...options,
  })

/** For the reaper: asks `ps`. The environment of a process follows its command where the system shows it. */
const darwinFunctions = (environmentFlag: string): string => `
export LC_ALL=C TZ=UTC

list_processes() {
  ps -A -o pid=,ppid=,pgid=,lstart= | awk '{
    gsub(":", ".", $7)
    print $1, $2, $3, $4 "_" $5 "_" $6 "_" $7 "_" $8
  }'
}

read_table() { table="|$(list_processes | awk '{ printf "%s:%s|", $1, $4 }')"; }

start_of() {
  case $table in
    *"|$1:"*) start=\${table#*"|$1:"} start=\${start%%"|"*} ;;
    *) start= ;;
  esac
}

# This script and its subshells have the mark as an argument.
list_marked() {
  ps -A -ww -o pid=,command= ${environmentFlag} 2>/dev/null | grep -F " $mark" | grep -v toolroom-reaper |
    awk '{ print $1 }'
}
`
