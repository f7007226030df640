import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Runs when the service is killed: ends the process groups it has started, then all processes with the mark. It reads
 * `+group` and `-group` from the service; the end of its input means that the service has ended. The mark is an argument
 * and not a variable, or the script would end itself.
 *
 * Plain sh, because it exists everywhere and uses little memory. In dash `kill -KILL -- -7` is an error,
 * `kill -KILL "-7"` is not.
 */
const SCRIPT = `
trap '' INT TERM HUP
groups=' '
while read -r line; do
  case $line in
    bye) exit 0 ;;
    +*) groups="$groups\${line#+} " ;;
    -*) gone=\${line#-}; rest=; for g in $groups; do [ "$g" = "$gone" ] || rest="$rest$g "; done; groups=" $rest" ;;
  esac
done
sleep 0.2
for g in $groups; do kill -KILL "-$g" 2>/dev/null; done
for round in 1 2 3 4 5; do
  found=$(grep -alF "$1" /proc/[0-9]*/environ 2>/dev/null)
  [ -n "$found" ] || [ $round -lt 3 ] || exit 0
  for file in $found; do pid=\${file#/proc/}; kill -KILL "\${pid%/environ}" 2>/dev/null; done
  sleep 0.1
done
`

const RESTART_MS = 500

interface Options {
  /** `NAME=value`, as in the environment of the started processes. */
  readonly mark: string
  readonly onTrouble: (message: string) => void
}

/** A small process in its own session that outlives the service and ends what it leaves. Started with the first server. */
export class Reaper {
  readonly #options: Options
  readonly #groups = new Set<number>()
  #process: ChildProcess | undefined
  #restart: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: Options) {
    this.#options = options
  }

  /** To be called before anything of the new process is read. */
  watch(group: number): void {
    this.#groups.add(group)
    if (this.#process || this.#restart) this.#send(`+${group}`)
    else this.#start()
  }

  /** To be called when the group is empty: its number may be reused. */
  forget(group: number): void {
    this.#groups.delete(group)
    this.#send(`-${group}`)
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

  #start(): void {
    // Detached: a Ctrl-C in the terminal reaches every process of the service's own group.
    const reaper = spawn('/bin/sh', ['-c', SCRIPT, 'toolroom-reaper', this.#options.mark], {
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
    for (const group of this.#groups) this.#send(`+${group}`)
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
}
