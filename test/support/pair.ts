import { PassThrough } from 'node:stream'
import { setImmediate as tick } from 'node:timers/promises'
import { StdioTransport } from '../../src/mcp/transports/stdio/stdio-transport.ts'
import type { CallFailure } from '../../src/protocol/call.ts'

/** Streams with the test at the other end. */
export function wires() {
  const [input, output] = [new PassThrough(), new PassThrough()]
  /** Everything written by the end of this turn of the event loop. */
  const sent = async () => {
    await tick()
    return String(input.read() ?? '')
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  }
  const say = async (...lines: (string | object)[]) => {
    for (const line of lines) output.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`)
    await tick()
  }
  return { input, output, sent, say }
}

/** A peer with the test at the other end. */
export function pair() {
  const { input, output, sent, say } = wires()
  const noise: string[] = []
  const notified: unknown[] = []
  const { peer } = new StdioTransport({
    input,
    output,
    onStrayLine: (bytes) => noise.push(bytes.toString('utf8')),
    onNotification: (method, params) => notified.push([method, params]),
  })
  return { peer, sent, say, noise, notified, input, output }
}

export const patient = { timeoutMs: 5000 }

export const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (error) => (error as CallFailure).reason,
  )
