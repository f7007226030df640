import type { Readable, Writable } from 'node:stream'
import { JsonRpcPeer, type PeerEvents } from '../../client/json-rpc-peer.ts'
import type { Transport } from '../../client/transport.ts'
import { CallFailure } from '../../protocol/call-failure.ts'
import { LineReader, MESSAGE_MAX_BYTES } from '../../protocol/line-splitter.ts'

interface Options extends PeerEvents {
  readonly input: Writable
  readonly output: Readable
  /** A line on stdout that is not a message; `cut` bytes of it are missing. */
  readonly onStrayLine: (bytes: Buffer, cut: number) => void
}

/** How much may be waiting for a server that does not read its input. */
export const BACKLOG_MAX_BYTES = 16 * 1024 * 1024

/**
 * Messages over the streams of a child process, one per line. Reading never waits for writing: a single-threaded server
 * may be blocked in a write to us, and reads our next line only after that.
 */
export class StdioTransport implements Transport {
  readonly kind = 'stdio'
  readonly peer: JsonRpcPeer

  constructor({ input, output, onStrayLine, ...events }: Options) {
    const outbox = new Outbox(input)
    const peer = new JsonRpcPeer({
      sender: {
        send: (text) => outbox.add(text, peer.pendingRequests <= 1),
        sendParts: (head, middle, tail) => outbox.addParts(head, middle, tail),
        refusal: () => refusalOf(input, outbox.length),
      },
      ...events,
    })
    new LineReader(output, MESSAGE_MAX_BYTES, (line) => {
      if (!peer.receive(line) && line.bytes.length > 0) onStrayLine(line.bytes, line.cut)
    })
    output.on('end', () => peer.close('The server closed its output'))
    output.on('error', () => peer.close('Reading from the server failed'))
    output.on('close', () => peer.close("The server's output was closed"))
    input.on('error', () => {}) // sent requests may still be answered; new ones are refused
    this.peer = peer
  }

  /** The supervisor ends the process; here only requests end. */
  async close(): Promise<void> {
    this.peer.close('The connection was closed')
  }
}

function refusalOf(input: Writable, waiting: number): CallFailure | undefined {
  if (!input.writable) return new CallFailure('closed', 'The server closed its input')
  if (input.writableLength + waiting > BACKLOG_MAX_BYTES)
    return new CallFailure('busy', 'The server does not read its input')
  return undefined
}

/** This many lines are written at once, so that the server can process them while the next ones are prepared. */
const MAX_LINES = 16

/** Collects the lines of one turn of the event loop, so that many calls at once need few writes and few reads. */
class Outbox {
  readonly #stream: Writable
  #text = ''
  #count = 0
  #due: NodeJS.Immediate | undefined

  constructor(stream: Writable) {
    this.#stream = stream
  }

  /** The characters that are waiting, as an estimate of their bytes. */
  get length(): number {
    return this.#text.length
  }

  /** `isOnly`: no other request is pending, so there is nothing to wait for. */
  add(line: string, isOnly: boolean): void {
    this.#text += `${line}\n`
    this.#count += 1
    if (isOnly || this.#count >= MAX_LINES) this.flush()
    else this.#due ??= setImmediate(() => this.flush())
  }

  /** One line in three parts, so that the middle is not decoded. */
  addParts(head: string, middle: Buffer, tail: string): void {
    this.flush()
    this.#stream.cork()
    this.#stream.write(head)
    this.#stream.write(middle)
    this.#stream.write(`${tail}\n`)
    this.#stream.uncork()
  }

  flush(): void {
    if (this.#due) clearImmediate(this.#due)
    this.#due = undefined
    if (this.#text === '') return
    const text = this.#text
    this.#text = ''
    this.#count = 0
    if (this.#stream.writable) this.#stream.write(text)
  }
}
