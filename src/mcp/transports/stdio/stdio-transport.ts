import type { Readable, Writable } from 'node:stream'
import { JsonRpcPeer, type PeerEvents } from '../../client/json-rpc-peer.ts'
import type { Transport } from '../../client/transport.ts'
import { CallFailure } from '../../protocol/call.ts'
import { FrameReader, MESSAGE_MAX_BYTES } from '../../protocol/frames.ts'
import { Outbox } from './outbox.ts'

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
    new FrameReader(output, MESSAGE_MAX_BYTES, (frame) => {
      if (!peer.receive(frame) && frame.bytes.length > 0) onStrayLine(frame.bytes, frame.cut)
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
