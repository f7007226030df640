/** Columns of numbers, one after another in the same bytes. The widest ones are first, so that all are aligned. */
type Layout = Readonly<Record<string, new (buffer: ArrayBuffer, offset: number, length: number) => unknown>>
export type Views<L extends Layout> = { readonly [K in keyof L]: InstanceType<L[K]> }

/** The bytes of a block do not fit together. */
export class DamagedBlock extends Error {}

const widthOf = (View: unknown): number => (View as { readonly BYTES_PER_ELEMENT: number }).BYTES_PER_ELEMENT

export function sizeOf(layout: Layout, rows: number): number {
  return Object.values(layout).reduce((sum, View) => sum + widthOf(View) * rows, 0)
}

export function viewsOf<L extends Layout>(layout: L, bytes: Uint8Array, rows: number): Views<L> {
  if (bytes.length < sizeOf(layout, rows)) throw new DamagedBlock('a block is too short')
  const aligned = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice()
  let offset = aligned.byteOffset
  const views = Object.entries(layout).map(([name, View]) => {
    const view = new View(aligned.buffer as ArrayBuffer, offset, rows)
    offset += widthOf(View) * rows
    return [name, view]
  })
  return Object.fromEntries(views)
}

/** The names of a block. Columns contain their positions. */
export class Names {
  readonly #positions = new Map<string | null, number>([[null, 0]])

  position(name: string | null): number {
    const known = this.#positions.get(name)
    if (known !== undefined) return known
    this.#positions.set(name, this.#positions.size)
    return this.#positions.size - 1
  }

  json(): string {
    return JSON.stringify([...this.#positions.keys()])
  }
}

export function namesOf(json: string): readonly (string | null)[] {
  const names: unknown = JSON.parse(json)
  if (!Array.isArray(names)) throw new DamagedBlock('the names of a block cannot be read')
  return names as (string | null)[]
}

const ENDS = { end: Uint32Array } as const

/** Reads single texts: where each one ends, then the texts. */
export class TextList {
  readonly #texts: Buffer
  readonly #ends: Uint32Array

  constructor(bytes: Uint8Array, count: number) {
    this.#ends = viewsOf(ENDS, bytes, count).end
    this.#texts = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).subarray(sizeOf(ENDS, count))
  }

  /** Null for an empty text. */
  at(index: number): string | null {
    const [start, end] = [this.#ends[index - 1] ?? 0, this.#ends[index] ?? 0]
    return end > start ? this.#texts.toString('utf8', start, end) : null
  }
}
