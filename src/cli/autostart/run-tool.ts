import { execFile } from 'node:child_process'

const TIMEOUT_MS = 60_000

/** Runs a program of the operating system to its end. Rejects with a sentence that has its last line. */
export type RunTool = (command: string, args: readonly string[]) => Promise<string>

export const runTool: RunTool = (command, args) =>
  new Promise((resolve, reject) => {
    const env = { ...process.env, LC_ALL: 'C', SYSTEMD_COLORS: '0' }
    execFile(command, args, { timeout: TIMEOUT_MS, env, windowsHide: true }, (error, stdout, stderr) => {
      if (!error) return resolve(stdout)
      const end = typeof error.code === 'number' ? `exit code ${error.code}` : error.message
      const line = stderr.trim().split('\n').at(-1) || end
      reject(new Error(`${[command, ...args].join(' ')} failed: ${line}`))
    })
  })
