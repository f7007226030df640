import type { DownloadRequest } from '../../../logs/log-store.ts'
import type { Piece, PieceRequest } from './reading.ts'

/** Asks for one piece after the other, the first at once. Whoever reads slowly slows the reading. */
export function pieces(
  request: DownloadRequest,
  ask: (request: PieceRequest) => Promise<Piece>,
): AsyncIterable<Uint8Array> {
  const first = ask({ ...request, after: null, upTo: null })
  first.catch(() => {}) // is thrown below, to whoever reads
  return (async function* () {
    for (let piece = await first; ; piece = await ask({ ...request, after: piece.next, upTo: piece.upTo })) {
      if (piece.bytes.length > 0) yield piece.bytes
      if (piece.next === null) return
    }
  })()
}
