import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * What is left to do when the service is killed: end the groups it had started, then everything that carries the mark.
 * It reads `+group` and `-group` from the service; the end of that input means that the service is gone. The mark is an
 * argument and not in its environment, or it would find itself.
 *
 * Plain sh, because it has to be there always and must weigh nothing. In dash `kill -KILL -- -7` is an error,
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
  /** As it stands in the environment of everything that is started: `NAME=value`. */
  readonly mark: string
  readonly onTrouble: (message: string) => void
}

/** One small process for the whole service, in a session of its own, that outlives it by a moment. Starts with the first server. */
export class Reaper {
  readonly #options: Options
  readonly #groups = new Set<number>()
  #process: ChildProcess | undefined
  #restart: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: Options) {
    this.#options = options
  }

  /** Before the first byte of the new process is read. */
  watch(group: number): void {
    this.#groups.add(group)
    if (this.#process || this.#restart) this.#tell(`+${group}`)
    else this.#start()
  }

  /** When nobody is left in the group: its number may soon belong to somebody else. */
  forget(group: number): void {
    this.#groups.delete(group)
    this.#tell(`-${group}`)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#restart)
    const reaper = this.#process
    if (!reaper || reaper.exitCode !== null) return
    const ended = once(reaper, 'exit')
    this.#tell('bye')
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
    reaper.stdin?.on('error', () => {}) // it has ended: the exit says so
    reaper.on('error', (error) => this.#again(error.message))
    reaper.on('exit', () => this.#again('it has ended'))
    reaper.unref()
    for (const group of this.#groups) this.#tell(`+${group}`)
  }

  /** Somebody has ended it. Without it a kill of the service would leave processes behind, so it comes back. */
  #again(why: string): void {
    if (this.#closed || this.#restart) return
    this.#options.onTrouble(`the process that ends leftovers is gone (${why}) and is started again`)
    this.#restart = setTimeout(() => {
      this.#restart = undefined
      this.#start()
    }, RESTART_MS)
    this.#restart.unref()
  }

  #tell(line: string): void {
    const input = this.#process?.stdin
    if (input?.writable) input.write(`${line}\n`)
  }
}
