interface Command {
  readonly command: string
  readonly args: readonly string[]
}

/** On Windows these are `.cmd` files, which need a shell. */
const SCRIPTS = ['npx', 'npm', 'pnpm', 'yarn', 'bunx']

export function forWindows({ command, args }: Command): Command {
  return SCRIPTS.includes(command) ? { command: 'cmd', args: ['/c', command, ...args] } : { command, args }
}

/** The reverse, on every system, because files are shared between computers. */
export function withoutCmd({ command, args }: Command): Command {
  const [flag = '', script = '', ...rest] = args
  const wrapped = /^cmd(\.exe)?$/i.test(command) && /^\/c$/i.test(flag) && SCRIPTS.includes(script)
  return wrapped ? { command: script, args: rest } : { command, args }
}
