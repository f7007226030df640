// A program that speaks MCP on its streams, spoken to line by line: no library decides what is said.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

const ANSWER_MS = 30_000
const END_MS = 8000

/** @returns what `work` gives, and whether the program ended by itself when its input did */
export async function withLines([program, ...args], { cwd, env }, work) {
  // A group of its own, so that whatever it started can be ended with it.
  const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  const closed = once(child, 'close')
  const endGroup = () => {
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // All of them have ended by themselves.
    }
  }
  process.prependOnceListener('exit', endGroup) // before its home is removed
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    complaint = (complaint + text).slice(-2000)
  })
  child.stdin.on('error', () => undefined) // it ended before it read; what it said is in `complaint`
  try {
    const value = await work(conversation(child, () => complaint))
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

function conversation(child, complaint) {
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
      failAll('it wrote a line that is not JSON')
    }
  })
  child.once('close', () => failAll('it ended'))
  let last = -1 // so that the first id is 0, which is an id like any other

  return {
    tell: (method) => send({ method }),

    async ask(method, params = {}) {
      last += 1
      const id = last
      let late
      try {
        const { result, error } = await new Promise((resolve, reject) => {
          const fail = (what) => reject(new Error(`${method}: ${what} (${lastLine(complaint())})`))
          late = setTimeout(() => fail('no answer'), ANSWER_MS)
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
