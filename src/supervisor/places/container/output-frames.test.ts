import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OutputFrames } from './output-frames.ts'

test('frames that arrive in any parts become the two streams', async () => {
  const frames = fc.array(
    fc.record({ stream: fc.constantFrom(1, 2), bytes: fc.uint8Array({ maxLength: 300 }) }),
  )
  await fc.assert(
    fc.asyncProperty(frames, fc.infiniteStream(fc.integer({ min: 1, max: 50 })), async (list, sizes) => {
      const source = new PassThrough()
      const whole = Buffer.concat(list.map(({ stream, bytes }) => frame(stream, bytes)))
      const first = whole.subarray(0, sizes.next().value)
      const { output, errors } = new OutputFrames(source, first)
      const read = Promise.all([latin1(output), latin1(errors)])
      let at = first.length
      for (const size of sizes) {
        if (at >= whole.length) break
        source.write(whole.subarray(at, at + size))
        at += size
      }
      source.end()
      const of = (wanted: number) =>
        Buffer.concat(list.filter(({ stream }) => stream === wanted).map(({ bytes }) => bytes)).toString(
          'latin1',
        )
      expect(await read).toEqual([of(1), of(2)])
    }),
    { numRuns: 100 },
  )
})

test('a frame of 4 GiB that is not read holds no more than the buffers of the streams', async () => {
  const source = new PassThrough()
  const { output } = new OutputFrames(source, frame(1, Buffer.alloc(0), 0xffff_ffff))
  const chunk = Buffer.alloc(64 * 1024, 'x')
  let written = 0
  while (source.write(chunk) && written < 1000) written += 1
  await new Promise((resolve) => setImmediate(resolve))
  while (source.write(chunk) && written < 1000) written += 1
  expect(written).toBeLessThan(100)
  expect(output.readableLength + output.writableLength).toBeLessThan(1024 * 1024)
  output.resume() // then the source goes on
  await new Promise((resolve) => source.once('drain', resolve))
})

test('an end in the middle of a frame ends both streams', async () => {
  const source = new PassThrough()
  const { output, errors } = new OutputFrames(source, frame(2, Buffer.from('half'), 10))
  source.end()
  expect(await Promise.all([text(output), text(errors)])).toEqual(['', 'half'])
})

function frame(stream: number, bytes: Uint8Array, length = bytes.length): Buffer {
  const header = Buffer.alloc(8)
  header[0] = stream
  header.writeUInt32BE(length, 4)
  return Buffer.concat([header, bytes])
}

async function latin1(stream: PassThrough): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString('latin1')
}
