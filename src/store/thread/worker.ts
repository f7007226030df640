import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { SqliteCallStore } from '../calls/sqlite-call-store.ts'
import { SqliteLogStore } from '../logs/sqlite-log-store.ts'
import { failureOf, type Message, type Request, type Setup } from './thread-messages.ts'

/** Runs the stores in a worker thread, because SQLite calls are synchronous and would block the service. */
function serve(port: MessagePort, setup: Setup): void {
  const send = (message: Message, transfer: ArrayBuffer[] = []) => port.postMessage(message, transfer)
  const onError = (error: Error) => send({ kind: 'error', failure: failureOf(error) })
  const stores = {
    logs: new SqliteLogStore({
      ...setup.logs,
      onDamaged: (message) => send({ kind: 'damaged', message }),
      onDiscarded: (lines) => send({ kind: 'discarded', lines }),
      onError,
    }),
    calls: new SqliteCallStore({ ...setup.calls, onTrouble: (message) => onError(new Error(message)) }),
  }

  // Appends complete within `start`; reads of the log continue in steps between other calls.
  const start = ({ id, store, operation, args }: Request) => {
    const methods = stores[store] as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
    Promise.resolve(methods[operation]?.(...args))
      .then((result) => send({ kind: 'result', id, result }, buffersOf(result)))
      .catch((error: unknown) => send({ kind: 'failure', id, failure: failureOf(error) }))
      .finally(() => {
        if (store === 'logs' && operation === 'close') port.close()
      })
  }

  // One call per event loop turn: a port delivers up to a thousand messages in a row, which would starve reads and
  // indexing during a flood of lines. A page of the log overtakes pending appends: the lines it must show are acknowledged
  // already.
  const queue: Request[] = []
  const next = () => {
    const request = queue.shift()
    if (request) start(request)
    if (queue.length > 0) setImmediate(next)
  }
  port.on('message', (request: Request) => {
    if (queue.length === 0) setImmediate(next)
    const isLogPage = request.store === 'logs' && request.operation === 'page'
    const before = isLogPage ? queue.findLastIndex(isNotAppend) + 1 : queue.length
    queue.splice(before, 0, request)
  })
}

const isNotAppend = ({ store, operation }: Request) => store !== 'logs' || operation !== 'append'

/** The buffers to transfer instead of copying them. */
function buffersOf(result: unknown): ArrayBuffer[] {
  if (typeof result !== 'object' || result === null || !('bytes' in result)) return []
  return result.bytes instanceof Uint8Array && result.bytes.buffer instanceof ArrayBuffer
    ? [result.bytes.buffer]
    : []
}

if (parentPort) serve(parentPort, workerData as Setup)
