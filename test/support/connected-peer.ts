import { once } from 'node:events'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { setImmediate as tick } from 'node:timers/promises'
import type { CallFailure } from '../../src/mcp/protocol/call-failure.ts'
import { StdioTransport } from '../../src/mcp/transports/stdio/stdio-transport.ts'

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

export const patient = { timeoutMs: 60_000 }

/**
 * Waits until a process answers. A server that is known as modern gets 2 s for its first response, which starting a process
 * may take on a busy machine.
 */
export async function answers({ input, output }: { input: Writable; output: Readable }): Promise<void> {
  input.write('{"jsonrpc":"2.0","id":"up","method":"ping"}\n')
  await once(output, 'data')
}

export const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (error) => (error as CallFailure).reason,
  )
