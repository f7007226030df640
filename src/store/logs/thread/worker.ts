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

/** The log's own thread: SQLite blocks whoever calls it, and the service must answer meanwhile. */
function serve(port: MessagePort, { path, maxBytes }: Setup): void {
  const send = (message: Message, transfer: ArrayBuffer[] = []) => port.postMessage(message, transfer)
  const logs = new SqliteLogStore({
    path,
    maxBytes,
    onDamaged: (message) => send({ kind: 'damaged', message }),
    onError: (error) => send({ kind: 'trouble', failure: failureOf(error) }),
  })

  // A call is begun as it comes in. Writing is over with that; reading goes on in steps between other calls.
  const begin = ({ id, operation, args }: Request) => {
    const call = logs[operation] as (...args: Arguments<Operation>) => Promise<unknown>
    call
      .apply(logs, args)
      .then((result) => send({ kind: 'result', id, result }, buffersOf(result)))
      .catch((error: unknown) => send({ kind: 'failure', id, failure: failureOf(error) }))
      .finally(() => {
        if (operation === 'close') port.close()
      })
  }

  // One call in a turn: a port hands over up to a thousand messages in a row, also those that come meanwhile, and
  // in a flood of lines neither a reading nor the text index would get on. A page goes before lines that wait to be
  // written: what it has to show was answered before it was asked for.
  const waiting: Request[] = []
  const next = () => {
    const request = waiting.shift()
    if (request) begin(request)
    if (waiting.length > 0) setImmediate(next)
  }
  port.on('message', (request: Request) => {
    if (waiting.length === 0) setImmediate(next)
    const before = request.operation === 'page' ? waiting.findLastIndex(isNoAppend) + 1 : waiting.length
    waiting.splice(before, 0, request)
  })
}

const isNoAppend = ({ operation }: Request) => operation !== 'append'

/** The bytes of a download move over instead of being copied. */
function buffersOf(result: unknown): ArrayBuffer[] {
  if (typeof result !== 'object' || result === null || !('bytes' in result)) return []
  return result.bytes instanceof Uint8Array && result.bytes.buffer instanceof ArrayBuffer
    ? [result.bytes.buffer]
    : []
}

if (parentPort) serve(parentPort, workerData as Setup)
