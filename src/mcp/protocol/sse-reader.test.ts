import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../../test/support/full-or-short.ts'
import { stopwatch } from '../../../test/support/measuring.ts'
import { EventTooLargeError, type SseEvent, SseReader } from './sse-reader.ts'

function read(chunks: readonly Buffer[], maxBytes?: number) {
  const events: [string, string][] = []
  const reader = new SseReader(({ event, data }: SseEvent) => events.push([event, data.toString()]), maxBytes)
  for (const chunk of chunks) reader.push(chunk)
  return { events, id: reader.lastEventId, retryMs: reader.retryMs }
}

const whole = (text: string) => read([Buffer.from(text)])
const eventsOf = (text: string) => whole(text).events

describe('event stream', () => {
  test.each([
    ['data: one\n\n', [['message', 'one']]],
    ['data:one\r\n\r\n', [['message', 'one']]],
    ['data: one\r\r', [['message', 'one']]],
    ['\uFEFFdata: one\n\n', [['message', 'one']]],
    ['data: one\ndata: two\ndata:\ndata\n\n', [['message', 'one\ntwo\n\n']]],
    ['data:  two spaces\n\n', [['message', ' two spaces']]],
    [
      'event: endpoint\ndata: /message\n\ndata: next\n\n',
      [
        ['endpoint', '/message'],
        ['message', 'next'],
      ],
    ],
    [': a comment\n:\ndata: a:b\nunknown: x\n\n', [['message', 'a:b']]],
    ['datax: no\nDATA: no\ndata : no\n\n', []],
    ['data: never finished\n', []],
    ['data: never finished', []],
    ['event: alone\n\ndata: x\n\n', [['message', 'x']]],
    ['data: ümlaut 🎈\n\n', [['message', 'ümlaut 🎈']]],
  ])('the stream %j has the events %j', (text, events) => {
    expect(eventsOf(text)).toEqual(events)
  })

  test('the last event id and the retry time are read', () => {
    expect(whole('id: 7\nretry: 1500\ndata:\n\n')).toEqual({ events: [], id: '7', retryMs: 1500 })
    expect(whole('id: 7\ndata: x\n\ndata: y\n\n').id).toBe('7')
    expect(whole('id: 7\n\nid: with\0zero\n\n').id).toBe('7')
    expect(whole('id: unfinished\n').id).toBeUndefined()
    expect(whole('retry: soon\n\n').retryMs).toBeUndefined()
  })

  test('events do not depend on how the bytes are split into chunks', () => {
    const line = fc.constantFrom(
      'data: ü🎈',
      'data',
      'data:x',
      ':c',
      'event: e',
      'id: 1',
      'retry: 5',
      '',
      'oops: 1',
    )
    const ends = fc.constantFrom('\n', '\r', '\r\n')
    const text = fc
      .tuple(fc.constantFrom('', '\uFEFF'), fc.array(fc.tuple(line, ends), { maxLength: 30 }))
      .map(([bom, lines]) => bom + lines.map((each) => each.join('')).join(''))
    fc.assert(
      fc.property(text, fc.array(fc.nat(200), { maxLength: 40 }), (stream, cuts) => {
        const bytes = Buffer.from(stream)
        const expected = read([bytes])
        expect(read(split(bytes, cuts))).toEqual(expected)
        expect(read([...bytes].map((byte) => Buffer.from([byte])))).toEqual(expected)
        expect(expected).toEqual(model(stream))
      }),
      { numRuns: runs(100, 500) },
    )
  })

  test('a stream is read in linear time with any line ending', () => {
    for (const end of ['\n', '\r', '\r\n']) {
      const lines = Buffer.from(`data: x${end}${end}`.repeat(50_000))
      const spent = stopwatch()
      expect(read([lines]).events).toHaveLength(50_000)
      expect(spent()).toBeLessThan(2000)
    }
  })
})

describe('endless stream', () => {
  test('data beyond the limit is refused, in one line or in many', () => {
    expect(() => read(Array(11).fill(Buffer.from('x'.repeat(100))), 1000)).not.toThrow()
    const line = [Buffer.from('data: '), ...Array(11).fill(Buffer.from('x'.repeat(100)))]
    expect(() => read(line, 1000)).toThrow(EventTooLargeError)
    expect(() => read([Buffer.from('data:1\n'.repeat(600))], 1000)).toThrow(EventTooLargeError)
  })

  test('endless comments, names and unknown fields take no memory', () => {
    const before = process.memoryUsage.rss()
    const much = Buffer.alloc(1024 * 1024, 'x')
    for (const start of [':', 'other: ', '', 'id: '])
      expect(
        read([Buffer.from(start), ...Array(100).fill(much), Buffer.from('\ndata: y\n\n')]),
      ).toMatchObject({
        events: [['message', 'y']],
      })
    expect(process.memoryUsage.rss() - before).toBeLessThan(30 * 1024 * 1024)
  })
})

function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [
    0,
    ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b),
    bytes.length,
  ]
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end))
}

/** The algorithm of the specification, applied to the whole text. */
function model(stream: string) {
  const lines = stream.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)
  lines.pop() // not terminated by a line end
  const events: [string, string][] = []
  let [data, event] = ['', '']
  let [id, lastId, retryMs]: [string | undefined, string | undefined, number | undefined] = [
    undefined,
    undefined,
    undefined,
  ]
  for (const line of lines) {
    if (line === '') {
      lastId = id
      if (data.length > 1) events.push([event || 'message', data.slice(0, -1)])
      data = ''
      event = ''
    }
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/su.exec(line) ?? []
    if (name === 'data') data += `${value}\n`
    if (name === 'event') event = value
    if (name === 'id') id = value
    if (name === 'retry') retryMs = Number(value)
  }
  return { events, id: lastId, retryMs }
}
