import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ownFolder } from './folder.ts'
import { homeEnv } from './home-env.ts'
import { atEnd } from './lifetime.ts'
import { TOKEN } from './token.ts'

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

interface Options {
  readonly home?: string
  readonly env?: Readonly<Record<string, string>>
  readonly argv?: readonly string[]
  /** The program; by default that of the build. */
  readonly main?: string
  /** Limit of open files; by default that of the tests. */
  readonly files?: number
  /** The folder of a cgroup that it runs in. */
  readonly cgroup?: string | undefined
  /** A program that runs the service, with its arguments. */
  readonly under?: readonly string[]
}

/** The built service as a separate process, with an empty home directory. Ended at the latest with the test. */
export function launch({
  home = ownFolder(),
  env = {},
  argv = [],
  main = MAIN,
  files,
  cgroup,
  under = [],
}: Options = {}) {
  const program = [...under, process.execPath, main, ...argv]
  const before = [
    ...(files === undefined ? [] : [`ulimit -n ${files}`]),
    ...(cgroup === undefined ? [] : [`echo $$ >'${cgroup}/cgroup.procs'`]),
  ]
  const prepared = ['/bin/sh', '-c', `${before.join('; ')}; exec "$0" "$@"`, ...program]
  const [command = '', ...args] = before.length === 0 ? program : prepared
  const child = spawn(command, args, {
    cwd: home,
    env: { PATH: process.env.PATH, ...homeEnv(home), PORT: '0', HTTP_CHECK_INTERVAL_S: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  atEnd(() => void child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal,
    ...output,
  }))
  return { child, output, ended, home, data: join(home, '.local/share/toolroom') }
}

/** Waits for the line with the address. */
export async function launchReady(options: Options = {}) {
  const launched = launch({ ...options, env: { AUTH_TOKEN: TOKEN, ...options.env } })
  const address = await new Promise<string>((resolve, reject) => {
    launched.child.stdout.on('data', () => {
      const found = /ready at (http:\S+)/.exec(launched.output.stdout)?.[1]
      if (found) resolve(found)
    })
    void launched.ended.then((end) => reject(new Error(`the service ended: ${JSON.stringify(end)}`)))
  })
  return { ...launched, address }
}
