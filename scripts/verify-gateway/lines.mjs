// A raw MCP client over stdin and stdout, line by line, without a library.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

const ANSWER_MS = 30_000
const END_MS = 8000

/** @returns the result of `work`, and whether the program exited with 0 when its input ended */
export async function withLines([program, ...args], { cwd, env }, work) {
  // Its own group, so that its child processes are ended with it.
  const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  const closed = once(child, 'close')
  const endGroup = () => {
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // All processes of the group have already ended.
    }
  }
  process.prependOnceListener('exit', endGroup) // before the home directory is removed
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr = (stderr + text).slice(-2000)
  })
  child.stdin.on('error', () => undefined) // it ended before reading; `stderr` has its output
  try {
    const value = await work(conversation(child, () => stderr))
    child.stdin.end()
    const late = setTimeout(endGroup, END_MS)
    const [code] = await closed
    clearTimeout(late)
    return { value, ended: code === 0 }
  } finally {
    endGroup()
    process.off('exit', endGroup)
  }
}

function conversation(child, stderr) {
  const waiting = new Map()
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const failAll = (what) => {
    for (const { fail } of waiting.values()) fail(what)
  }
  createInterface({ input: child.stdout }).on('line', (line) => {
    try {
      const message = JSON.parse(line)
      if (message.method === undefined) waiting.get(message.id)?.resolve(message)
    } catch {
      failAll('the program wrote a line that is not JSON')
    }
  })
  child.once('close', () => failAll('the program ended'))
  let last = -1 // so that the first id is 0, which is a valid id

  return {
    notify: (method) => send({ method }),

    async request(method, params = {}) {
      last += 1
      const id = last
      let late
      try {
        const { result, error } = await new Promise((resolve, reject) => {
          const fail = (what) => reject(new Error(`${method}: ${what} (${lastLine(stderr())})`))
          late = setTimeout(() => fail('no response'), ANSWER_MS)
          waiting.set(id, { resolve, fail })
          send({ id, method, params })
        })
        if (error) throw new Error(`${method}: ${error.code} ${error.message}`)
        return result
      } finally {
        waiting.delete(id)
        clearTimeout(late)
      }
    },
  }
}

const lastLine = (text) => text.trim().split('\n').at(-1)
