import type { ChildProcess } from 'node:child_process'
import type { Exit, Holder, Launch } from './platform.ts'

/** The environment of a child: what it inherits, its own variables, and the mark. */
export function environmentOf(
  { env, mark }: Pick<Launch, 'env' | 'mark'>,
  inherited: readonly string[],
): Record<string, string> {
  const environment: Record<string, string> = {}
  for (const name of inherited) {
    const value = process.env[name]
    if (value !== undefined) environment[name] = value
  }
  return { ...environment, ...env, ...variableOf(mark) }
}

/** What a holder reads from descriptor 3. */
export function toldTo({ args }: Holder, launch: Launch, inherited: readonly string[]): string {
  const told = args(environmentOf(launch, inherited))
  if (told.some((each) => each.includes('\0')))
    throw new TypeError('The environment has a value with a NUL character')
  return told.map((each) => `${each}\0`).join('')
}

/** A variable, as `NAME=value`. */
export function variableOf(mark: string): Record<string, string> {
  const at = mark.indexOf('=')
  return { [mark.slice(0, at)]: mark.slice(at + 1) }
}

/** Resolves when the operating system has started it. An object, because the promise in it must not be awaited. */
export async function spawned(child: ChildProcess): Promise<{ readonly ended: Promise<Exit> }> {
  // Not 'close': a grandchild may hold the pipes open long after the process has ended.
  const ended = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  child.stdin?.on('error', () => {}) // a write to a process that has ended, which `ended` reports
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
  return { ended }
}

/**
 * The variables that a child inherits on every system, where they are set: the language, the folder for temporary files,
 * and how the network is reached. Proxies are read by some programs in capitals and by others in small letters.
 */
const PROXIES = ['ALL_PROXY', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']
export const INHERITED_EVERYWHERE: readonly string[] = [
  'LANG',
  'LC_ALL',
  'TEMP',
  'TMP',
  'TMPDIR',
  ...PROXIES,
  ...PROXIES.map((name) => name.toLowerCase()),
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
]
