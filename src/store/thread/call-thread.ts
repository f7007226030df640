import type {
  CallPage,
  CallPageRequest,
  CallRecord,
  CallStore,
  SealedPayload,
} from '../../observe/calls/call-store.ts'
import { BlockQueue } from '../calls/block-writer.ts'
import type { StoreThread } from './store-thread.ts'

/** The call history in the store thread. Calls are encoded here: a block costs less to send than the calls in it. */
export class CallThread implements CallStore {
  readonly #thread: StoreThread
  readonly #queue = new BlockQueue((blocks) => this.#thread.call('calls', 'appendBlocks', [blocks]))

  constructor(thread: StoreThread) {
    this.#thread = thread
  }

  highestId(): Promise<number> {
    return this.#thread.call('calls', 'highestId', [])
  }

  get add(): CallStore['add'] {
    return this.#queue.add
  }

  flush(): Promise<void> {
    return this.#queue.flush()
  }

  page(request: CallPageRequest): Promise<CallPage> {
    return this.#thread.call('calls', 'page', [request])
  }

  find(id: number): Promise<CallRecord | undefined> {
    return this.#thread.call('calls', 'find', [id])
  }

  savePayloads(payloads: readonly SealedPayload[]): Promise<void> {
    return this.#thread.call('calls', 'savePayloads', [payloads])
  }

  payload(call_id: number): Promise<string | undefined> {
    return this.#thread.call('calls', 'payload', [call_id])
  }

  /** With the thread. */
  async close(): Promise<void> {}
}
