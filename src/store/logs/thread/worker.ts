import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { SqliteLogStore } from '../sqlite-log-store.ts'
import {
  type Arguments,
  failureOf,
  type Message,
  type Operation,
  type Request,
  type Setup,
} from './messages.ts'

/** Runs the log store in a worker thread, because SQLite calls are synchronous and would block the service. */
function serve(port: MessagePort, { path, maxBytes }: Setup): void {
  const send = (message: Message, transfer: ArrayBuffer[] = []) => port.postMessage(message, transfer)
  const logs = new SqliteLogStore({
    path,
    maxBytes,
    onDamaged: (message) => send({ kind: 'damaged', message }),
    onDiscarded: (lines) => send({ kind: 'discarded', lines }),
    onError: (error) => send({ kind: 'error', failure: failureOf(error) }),
  })

  // Appends complete within `start`; reads continue in steps between other calls.
  const start = ({ id, operation, args }: Request) => {
    const call = logs[operation] as (...args: Arguments<Operation>) => Promise<unknown>
    call
      .apply(logs, args)
      .then((result) => send({ kind: 'result', id, result }, buffersOf(result)))
      .catch((error: unknown) => send({ kind: 'failure', id, failure: failureOf(error) }))
      .finally(() => {
        if (operation === 'close') port.close()
      })
  }

  // One call per event loop turn: a port delivers up to a thousand messages in a row, which would starve reads and
  // indexing during a flood of lines. A page overtakes pending appends: the lines it must show are acknowledged already.
  const queue: Request[] = []
  const next = () => {
    const request = queue.shift()
    if (request) start(request)
    if (queue.length > 0) setImmediate(next)
  }
  port.on('message', (request: Request) => {
    if (queue.length === 0) setImmediate(next)
    const before = request.operation === 'page' ? queue.findLastIndex(isNotAppend) + 1 : queue.length
    queue.splice(before, 0, request)
  })
}

const isNotAppend = ({ operation }: Request) => operation !== 'append'

/** The buffers to transfer instead of copying them. */
function buffersOf(result: unknown): ArrayBuffer[] {
  if (typeof result !== 'object' || result === null || !('bytes' in result)) return []
  return result.bytes instanceof Uint8Array && result.bytes.buffer instanceof ArrayBuffer
    ? [result.bytes.buffer]
    : []
}

if (parentPort) serve(parentPort, workerData as Setup)
