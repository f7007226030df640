import type { DownloadRequest } from '../../../observe/logs/log-store.ts'
import type { Chunk, ChunkRequest } from './page-reader.ts'

/** Reads one chunk after the other, the first immediately. A slow consumer slows down the reading. */
export function downloadChunks(
  request: DownloadRequest,
  read: (request: ChunkRequest) => Promise<Chunk>,
): AsyncIterable<Uint8Array> {
  const first = read({ ...request, after: null, upTo: null })
  first.catch(() => {}) // rethrown below, when the consumer starts to read
  return (async function* () {
    for (let chunk = await first; ; chunk = await read({ ...request, after: chunk.next, upTo: chunk.upTo })) {
      if (chunk.bytes.length > 0) yield chunk.bytes
      if (chunk.next === null) return
    }
  })()
}
