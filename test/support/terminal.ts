import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { listProcesses } from '../../src/supervisor/platform/linux/proc.ts'
import { MAIN } from './bridge.ts'

/** Tests in a terminal are skipped without it. */
export const hasTmux = spawnSync('tmux', ['-V']).status === 0

const LATER = { timeout: 60_000, interval: 200 }

/** A shell in a real terminal of 80×24. */
export interface Terminal {
  readonly tmux: (...words: string[]) => string
  /** What it shows. */
  readonly screen: () => string
  /** Starts the built program. Its exit code is shown at the end: `code 0`. */
  readonly start: (...argv: string[]) => void
  readonly press: (...keys: string[]) => void
  readonly shows: (pattern: RegExp | string) => Promise<void>
  /** Whether a program has the alternate screen, and whether the cursor is visible: `1 0`. */
  readonly state: () => string
  readonly shellPid: () => number
  /** The process id of the program that the shell is running. */
  readonly program: () => number
}

/** `rows`: the height, for output that should not scroll away. */
export function openTerminal(env: Readonly<Record<string, string>>, rows = 24): Terminal {
  const socket = `toolroom-${randomUUID()}`
  const tmux = (...words: string[]) =>
    execFileSync('tmux', ['-L', socket, '-f', '/dev/null', ...words], { encoding: 'utf8' })
  // The server of tmux ends before its shells do: none of them may write a history into a folder that is being removed.
  const variables = Object.entries({ HISTFILE: '', ...env }).map(([name, value]) => `${name}=${value}`)
  tmux('new-session', '-d', '-x', '80', '-y', String(rows), 'env', ...variables, 'sh')
  onTestFinished(() => void tmux('kill-server'))
  const screen = () => tmux('capture-pane', '-p')
  const press = (...keys: string[]) => void tmux('send-keys', ...keys)
  const shellPid = () => Number(tmux('display-message', '-p', '#{pane_pid}'))
  tmux('set', '-g', 'escape-time', '0')
  return {
    tmux,
    screen,
    press,
    start: (...argv) =>
      press(`clear; '${process.execPath}' '${MAIN}' ${argv.join(' ')}; echo code $?`, 'Enter'),
    shows: (pattern) =>
      typeof pattern === 'string'
        ? expect.poll(screen, LATER).toContain(pattern)
        : expect.poll(screen, LATER).toMatch(pattern),
    state: () => tmux('display-message', '-p', '#{alternate_on} #{cursor_flag}').trim(),
    shellPid,
    program: () => (listProcesses().find(({ parent }) => parent === shellPid()) ?? expect.unreachable()).pid,
  }
}
