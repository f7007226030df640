import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { KnownProcess } from '../process-table.ts'
import type { GroupId } from './signals.ts'

const RESTART_MS = 500

interface Options {
  /** `NAME=value`, as in the environment of the started processes. */
  readonly mark: string
  /** A cgroup that the reaper creates for the groups; undefined where that is not possible. */
  readonly cgroup?: string | undefined
  readonly onTrouble: (message: string) => void
  readonly script: string
  /** The start time of a process, as the script reads it. */
  readonly startText: (startedAt: number) => string
}

/** Where the processes of this run are reported, so that they are ended even if the service is killed. */
export type ReaperLink = Pick<Reaper, 'watch' | 'forget' | 'watchProcess' | 'forgetProcess' | 'close'>

/** A small process in its own session that outlives the service and ends what it leaves. Started with the first server. */
export class Reaper {
  readonly #options: Options
  /** What the reaper knows, as lines without their sign. */
  readonly #known = new Set<string>()
  #process: ChildProcess | undefined
  #restart: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: Options) {
    this.#options = options
  }

  /** To be called before anything of the new process is read. */
  watch(group: GroupId): void {
    this.#add(this.#groupLine(group))
    if (!this.#process && !this.#restart) this.#start()
  }

  /** To be called when the group is empty: its number may be reused. */
  forget(group: GroupId): void {
    this.#remove(this.#groupLine(group))
  }

  watchProcess(process: KnownProcess): void {
    this.#add(this.#processLine(process))
  }

  forgetProcess(process: KnownProcess): void {
    this.#remove(this.#processLine(process))
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#restart)
    const reaper = this.#process
    if (!reaper || reaper.exitCode !== null) return
    const ended = once(reaper, 'exit')
    this.#send('bye')
    await ended
  }

  #add(line: string): void {
    this.#known.add(line)
    this.#send(`+${line}`)
  }

  #remove(line: string): void {
    if (this.#known.delete(line)) this.#send(`-${line}`)
  }

  #start(): void {
    const { mark, script, cgroup = '' } = this.#options
    // Detached: a Ctrl-C in the terminal reaches every process of the service's own group.
    const reaper = spawn('/bin/sh', ['-c', script, 'toolroom-reaper', mark, cgroup], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: { PATH: '/usr/bin:/bin' },
      cwd: '/',
    })
    this.#process = reaper
    reaper.stdin?.on('error', () => {}) // it has ended, which 'exit' reports
    reaper.on('error', (error) => this.#startAgain(error.message))
    reaper.on('exit', () => this.#startAgain('it has ended'))
    reaper.unref()
    for (const line of this.#known) this.#send(`+${line}`)
  }

  /** Without the reaper, a killed service would leave processes behind. */
  #startAgain(why: string): void {
    if (this.#closed || this.#restart) return
    this.#options.onTrouble(`the reaper process has failed (${why}) and is restarted`)
    this.#restart = setTimeout(() => {
      this.#restart = undefined
      this.#start()
    }, RESTART_MS)
    this.#restart.unref()
  }

  #send(line: string): void {
    const input = this.#process?.stdin
    if (input?.writable) input.write(`${line}\n`)
  }

  #groupLine({ leader, startedAt }: GroupId): string {
    return `g ${leader}:${startedAt === undefined ? 0 : this.#options.startText(startedAt)}`
  }

  #processLine({ pid, startedAt }: KnownProcess): string {
    return `p ${pid}:${this.#options.startText(startedAt)}`
  }
}

/**
 * Runs beside the service, and ends what it leaves behind when it is killed. The end of its input means that the service
 * has ended. It reads `+g 7:90` and `-g 7:90` for a process group, `+p 8:91` and `-p 8:91` for a process: the pid and
 * the start time, 0 if that is unknown. A pid with another start time is another process, and is never signalled.
 *
 * When the service has ended, the processes are stopped while the process table is read, so that none of them can exit
 * before its children are found. Then they have 0.2 s to exit. Children found in this way are killed even if they have a
 * session of their own and another environment. After that follows what has the mark, which is an argument and not a
 * variable, or the script would end itself.
 *
 * The functions that read the process table are those of one system:
 * - `read_table` is called before the start times of many processes are read.
 * - `start_of PID` sets `start` to the start time of a process; empty if there is no such process.
 * - `list_processes` prints the pid, parent, session and start time of each process on a line.
 * - `list_marked` prints the pids of the processes with the mark.
 *
 * Plain sh and awk, because they exist everywhere and use little memory. In dash `kill -KILL -- -7` is an error,
 * `kill -KILL "-7"` is not.
 */
export const reaperScript = (systemFunctions: string): string => `
trap '' INT TERM HUP
mark=$1 cgroup=$2 groups=' ' others=' '
[ -z "$cgroup" ] || mkdir "$cgroup" 2>/dev/null

join_cgroup() { [ -z "$cgroup" ] || echo "\${id%:*}" >"$cgroup/cgroup.procs"; }

end_cgroup() {
  [ -n "$cgroup" ] || return
  echo 1 >"$cgroup/cgroup.kill"
  for round in 1 2 3 4 5; do rmdir "$cgroup" 2>/dev/null && return; sleep 0.05; done
}

while read -r what id; do
  case $what in
    bye) end_cgroup; exit 0 ;;
    +g) groups="$groups$id "; join_cgroup ;;
    +p) others="$others$id "; join_cgroup ;;
    -g) case $groups in *" $id "*) groups="\${groups%% $id *} \${groups#* $id }" ;; esac ;;
    -p) case $others in *" $id "*) others="\${others%% $id *} \${others#* $id }" ;; esac ;;
  esac
done

${systemFunctions}
# A group keeps its number while it has members, even if its leader has ended.
signal_all() {
  read_table
  for id in $groups; do
    start_of "\${id%:*}"
    [ -n "$start" ] && [ "$start" != "\${id#*:}" ] || kill "-$1" "-\${id%:*}" 2>/dev/null
  done
  for id in $others; do
    start_of "\${id%:*}"
    [ "$start" != "\${id#*:}" ] || kill "-$1" "\${id%:*}" 2>/dev/null
  done
}

# All processes in the sessions of the groups, and all descendants of known processes.
find_descendants() {
  list_processes | awk -v groups="$groups" -v others="$others" '
    BEGIN {
      for (n = split(groups, ids, " "); n > 0; n--) { split(ids[n], id, ":"); leader[id[1]] = id[2] }
      for (n = split(others, ids, " "); n > 0; n--) { split(ids[n], id, ":"); other[id[1]] = id[2] }
    }
    { parent[$1] = $2; session[$1] = $3; start[$1] = $4 }
    END {
      for (pid in start) {
        by = session[pid]
        if (by in leader && (!(by in start) || start[by] == leader[by])) ours[pid]
        if (pid in other && start[pid] == other[pid]) ours[pid]
      }
      do {
        more = 0
        for (pid in start) if (!(pid in ours) && (parent[pid] in ours)) { ours[pid]; more = 1 }
      } while (more)
      for (pid in ours) printf "%s:%s ", pid, start[pid]
    }'
}

signal_all STOP
others="$others $(find_descendants)"
signal_all CONT
sleep 0.2
signal_all STOP
others="$others $(find_descendants)"
signal_all KILL
end_cgroup
for round in 1 2 3 4 5; do
  found=$(list_marked)
  [ -n "$found" ] || [ $round -lt 3 ] || exit 0
  for pid in $found; do kill -KILL "$pid" 2>/dev/null; done
  sleep 0.1
done
`
