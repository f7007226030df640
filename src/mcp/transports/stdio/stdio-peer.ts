import type { Readable, Writable } from 'node:stream'
import { CallFailure } from '../../../protocol/call.ts'
import { FrameReader, MESSAGE_MAX_BYTES } from '../../../protocol/frames.ts'
import { Dialogue } from '../../client/json-rpc-peer.ts'
import { Outbox } from './outbox.ts'

interface Options {
  readonly input: Writable
  readonly output: Readable
  /** What stands on stdout and is no message. */
  readonly onNoise: (bytes: Buffer, cut: number) => void
  readonly onNotification: (method: string, params: unknown) => void
}

/** How much may wait for a server that does not read. */
export const BACKLOG_MAX_BYTES = 16 * 1024 * 1024

/**
 * A dialogue over the streams of a child: one message a line. Reading never waits for writing: a server with one thread
 * may be stuck in a write to us, and reads our next line only after it.
 */
export class Peer extends Dialogue {
  constructor({ input, output, onNoise, onNotification }: Options) {
    const outbox = new Outbox(input)
    const wire = {
      send: (text: string) => outbox.add(text),
      sendSpliced: (head: string, middle: Buffer, tail: string) => outbox.addSpliced(head, middle, tail),
      refusal: () => refusalOf(input, outbox.length),
    }
    super({ wire, onNotification })
    new FrameReader(output, MESSAGE_MAX_BYTES, (frame) => {
      if (!this.hear(frame) && frame.bytes.length > 0) onNoise(frame.bytes, frame.cut)
    })
    output.on('end', () => this.close('It closed its output'))
    output.on('error', () => this.close('Its output broke'))
    output.on('close', () => this.close('Its output was closed'))
    input.on('error', () => {}) // what was written may still be answered; what comes next is refused
  }
}

function refusalOf(input: Writable, waiting: number): CallFailure | undefined {
  if (!input.writable) return new CallFailure('closed', 'It closed its input')
  if (input.writableLength + waiting > BACKLOG_MAX_BYTES)
    return new CallFailure('busy', 'It does not read its input')
  return undefined
}
