import { AppError } from '../../kernel/errors.ts'
import type { CallRecord } from '../../observe/calls/call-store.ts'
import {
  DETAIL_ROWS,
  DETAILS,
  FILTERS,
  KEYS,
  limitsOf,
  Names,
  type NewBlock,
  NO_DURATION,
  STATUSES,
  sizeOf,
  type Views,
  viewsOf,
} from './call-block.ts'

/** Bytes of a request id. Longer ones need more space. */
const ID_BYTES = 32

/**
 * Collects calls as a block. Nothing of a call stays on the heap: objects that wait for a flush would survive garbage
 * collections of the young generation.
 */
class BlockWriter {
  readonly #capacity: number
  readonly #filters: Views<typeof FILTERS>
  readonly #keys: Views<typeof KEYS>
  readonly #details: Views<typeof DETAILS>
  #requestIds: Buffer
  readonly #requestIdEnds: Uint32Array
  #names = new Names()
  /** The names of the call before. */
  #server: string | null = null
  #tool = ''
  #agent: string | null = null
  #session: string | null = null
  /** The error messages of the calls that failed, by row. */
  #messages = new Map<number, string>()
  #rows = 0

  constructor(capacity: number) {
    this.#capacity = capacity
    this.#filters = viewsOf(FILTERS, new Uint8Array(sizeOf(FILTERS, capacity)), capacity)
    this.#keys = viewsOf(KEYS, new Uint8Array(sizeOf(KEYS, capacity)), capacity)
    this.#details = viewsOf(DETAILS, new Uint8Array(sizeOf(DETAILS, capacity)), capacity)
    this.#requestIds = Buffer.alloc(capacity * ID_BYTES)
    this.#requestIdEnds = new Uint32Array(capacity)
  }

  /** On the path of every call. Returns false when there is no room for another one. */
  add(call: CallRecord): boolean {
    const row = this.#rows
    const filters = this.#filters
    const names = this.#names
    filters.duration_ms[row] = call.duration_ms ?? NO_DURATION
    const { server_id, tool, agent_type, session_id, error_code } = call
    const isSame = tool === this.#tool && server_id === this.#server && session_id === this.#session
    if (row > 0 && isSame && agent_type === this.#agent) {
      filters.server_id[row] = filters.server_id[row - 1] as number
      filters.tool[row] = filters.tool[row - 1] as number
      filters.agent_type[row] = filters.agent_type[row - 1] as number
      filters.session_id[row] = filters.session_id[row - 1] as number
    } else {
      this.#server = server_id
      this.#tool = tool
      this.#agent = agent_type
      this.#session = session_id
      filters.server_id[row] = names.position(server_id)
      filters.tool[row] = names.position(tool)
      filters.agent_type[row] = names.position(agent_type)
      filters.session_id[row] = names.position(session_id)
    }
    filters.error_code[row] = error_code === null ? 0 : names.position(error_code)
    filters.status[row] = call.status === 'ok' ? 0 : STATUSES.indexOf(call.status)
    this.#keys.call_id[row] = call.call_id
    this.#keys.started_at[row] = call.started_at
    const details = this.#details
    details.queue_ms[row] = call.queue_ms
    details.start_ms[row] = call.start_ms
    details.server_ms[row] = call.server_ms
    details.request_bytes[row] = call.request_bytes
    details.response_bytes[row] = call.response_bytes
    const id = call.request_id ?? ''
    const start = row === 0 ? 0 : (this.#requestIdEnds[row - 1] as number)
    if (start + id.length * 3 > this.#requestIds.length) this.#grow(id.length * 3)
    this.#requestIdEnds[row] = start + writeText(this.#requestIds, id, start)
    if (call.error_message !== null) this.#messages.set(row, call.error_message)
    this.#rows = row + 1
    return this.#rows < this.#capacity
  }

  /** The calls since the last time. Undefined when there are none. */
  take(): NewBlock | undefined {
    const rows = this.#rows
    if (rows === 0) return undefined
    const filters = copyOf(FILTERS, this.#filters, 0, rows)
    const keys = copyOf(KEYS, this.#keys, 0, rows)
    const details: Uint8Array[] = []
    for (let at = 0; at < rows; at += DETAIL_ROWS)
      details.push(this.#detailsOf(at, Math.min(at + DETAIL_ROWS, rows)))
    const block = { rows, names: this.#names.json(), filters, keys, folded: this.#folded(), details }
    this.#names = new Names()
    this.#messages = new Map()
    this.#rows = 0
    return { ...limitsOf(block), ...block }
  }

  #grow(bytes: number): void {
    this.#requestIds = Buffer.concat([this.#requestIds, Buffer.alloc(this.#requestIds.length + bytes)])
  }

  /** The messages of failed calls in lower case, one on each line. */
  #folded(): string | null {
    let folded = ''
    for (let row = 0; row < this.#rows; row += 1)
      if (this.#filters.status[row] !== 0)
        folded += `${(this.#messages.get(row) ?? '').replaceAll('\n', ' ').toLowerCase()}\n`
    return folded === '' ? null : folded
  }

  /** The texts are copied as bytes: a function call for each row would cost more than the rest. */
  #detailsOf(from: number, to: number): Uint8Array {
    const rows = to - from
    const ends = this.#requestIdEnds
    const idsFrom = from === 0 ? 0 : (ends[from - 1] as number)
    const ids = this.#requestIds.subarray(idsFrom, ends[to - 1])
    const texts = new Uint32Array(2 * rows)
    let messages = ''
    let end = ids.length
    for (let row = 0; row < rows; row += 1) texts[row] = (ends[from + row] as number) - idsFrom
    for (let row = 0; row < rows; row += 1) {
      const message = this.#messages.size === 0 ? undefined : this.#messages.get(from + row)
      if (message !== undefined) {
        messages += message
        end += Buffer.byteLength(message)
      }
      texts[rows + row] = end
    }
    const columns = copyOf(DETAILS, this.#details, from, to)
    const parts = [columns, new Uint8Array(texts.buffer), ids, Buffer.from(messages)]
    return new Uint8Array(Buffer.concat(parts))
  }
}

/** Ids are ASCII, and a loop over them costs less than the checks of `write`. */
function writeText(bytes: Buffer, text: string, start: number): number {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code > 0x7f) return bytes.write(text, start)
    bytes[start + at] = code
  }
  return text.length
}

function copyOf<L extends typeof FILTERS | typeof KEYS | typeof DETAILS>(
  layout: L,
  columns: Views<L>,
  from: number,
  to: number,
): Uint8Array {
  const bytes = new Uint8Array(sizeOf(layout, to - from))
  const copies = viewsOf(layout, bytes, to - from)
  for (const name of Object.keys(layout) as (keyof L)[]) {
    const [copy, column] = [copies[name], columns[name]] as unknown as [Uint8Array, Uint8Array]
    copy.set(column.subarray(from, to))
  }
  return bytes
}

const FLUSH_ROWS = 1024
/** Blocks that wait while another program has locked the file. */
const MAX_WAITING = 20

/** Collects calls until they are written. */
export class BlockQueue {
  readonly #writer = new BlockWriter(FLUSH_ROWS)
  readonly #append: (blocks: readonly NewBlock[]) => Promise<void>
  #waiting: NewBlock[] = []

  constructor(append: (blocks: readonly NewBlock[]) => Promise<void>) {
    this.#append = append
  }

  /** Returns false when it is full and must be written before the next call. */
  readonly add = this.#writer.add.bind(this.#writer)

  /** Passes all calls to the store. While it is locked they wait for the next time; otherwise an error loses them. */
  async flush(): Promise<void> {
    const block = this.#writer.take()
    const blocks = block ? [...this.#waiting, block] : this.#waiting
    if (blocks.length === 0) return
    this.#waiting = []
    try {
      await this.#append(blocks)
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'store_busy') throw error
      this.#waiting = [...blocks, ...this.#waiting]
      if (this.#waiting.splice(0, this.#waiting.length - MAX_WAITING).length > 0) throw error
    }
  }
}
