import { spawn } from 'node:child_process'

/** Starts this program once more, without waiting for it. In a file of its own, because most completions do not need it. */
export function startApart(argv: readonly string[]): void {
  spawn(process.execPath, argv, { stdio: 'ignore', detached: true }).unref()
}
