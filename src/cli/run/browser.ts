import { spawn } from 'node:child_process'

type Environment = Readonly<Record<string, string | undefined>>

/** The program that opens an address, with its first arguments. Undefined when there is no browser to be seen. */
export function browserOpener(os: NodeJS.Platform, env: Environment): readonly string[] | undefined {
  if (env.SSH_CONNECTION || env.SSH_CLIENT || env.SSH_TTY) return undefined
  if (os === 'darwin') return ['open']
  if (os === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : undefined
}

/**
 * Opens an address in the user's browser. The address comes from a server, so it is an argument, never a part of a shell's
 * command line, and anything but http and https is refused. Resolves with whether the program could be started.
 */
export function openInBrowser(opener: readonly string[], address: string): Promise<boolean> {
  const [command = '', ...first] = opener
  if (!/^https?:$/.test(new URL(address).protocol)) return Promise.resolve(false)
  return new Promise((resolve) => {
    const child = spawn(command, [...first, new URL(address).href], { stdio: 'ignore', detached: true })
    child.once('error', () => resolve(false))
    child.once('spawn', () => resolve(true))
    child.unref()
  })
}
