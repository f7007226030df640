import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Json } from '../catalogue/json-value.ts'
import { applyOperations, formatOf } from './apply-operations.ts'
import { CannotEdit } from './format.ts'
import { jsonFormat } from './json/json-format.ts'
import { verifiedFormat } from './verified-format.ts'

const OLD = '{"a":1,\n"b":{"x":1,"y":2}}'

/** A format whose every edit results in this text. */
function formatThatWrites(text: string, { readAgain = JSON.parse, confirm = true } = {}) {
  const proposal = { text, at: OLD.indexOf('"b"'), trace: 'trace' }
  const edit = () => (confirm ? { ...proposal, confirm: () => 'trace' } : proposal)
  return verifiedFormat({
    maxBytes: 1024,
    acceptsBom: false,
    parse: (parsed) => ({ text: parsed, json: parse(parsed) }),
    readAgain,
    find: () => 0,
    set: edit,
    remove: edit,
  })
}

function parse(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    throw new CannotEdit('Invalid JSON', { line: 9, column: 9 })
  }
}

describe.each([{ confirm: true }, { confirm: false }])('confirm: $confirm', (options) => {
  test('an edit is accepted if it sets the value and changes nothing else', () => {
    const text = '{"a":1,"b":{"x":1,"y":2,"z":3}}'
    expect(formatThatWrites(text, options).set(OLD, ['b', 'z'], 3)).toEqual({ text, trace: 'trace' })
    expect(formatThatWrites('{"a":1}', options).remove('{"a":1,"b":{"x":1}}', ['b', 'x'])).toBe('{"a":1}')
  })

  test.each([
    ['does not set the value', '{"a":1,"b":{"x":1,"y":2}} '],
    ['sets another value', '{"a":1,"b":{"x":1,"y":2,"z":4}}'],
    ['changes a neighbour', '{"a":2,"b":{"x":1,"y":2,"z":3}}'],
    ['removes a neighbour', '{"b":{"x":1,"y":2,"z":3}}'],
    ['changes the order of neighbours', '{"a":1,"b":{"y":2,"x":1,"z":3}}'],
    ['makes the file invalid', '{"a":1,"b":{"x":1,"y":2,"z":3}'],
  ])('an edit that %s is refused with a position in the old text', (_, text) => {
    const refusal = refusalOf(() =>
      formatThatWrites(text, { ...options, readAgain: parse }).set(OLD, ['b', 'z'], 3),
    )
    expect(refusal.position).toEqual({ line: 2, column: 1 })
    expect(refusal.message).toBe('This part of the file cannot be edited safely. Edit it by hand')
  })
})

test('a file that the two parsers read differently is not edited', () => {
  const format = formatThatWrites('{}', { readAgain: () => ({ a: 2 }) })
  for (const edit of [() => format.set(OLD, ['a'], 2), () => format.remove(OLD, ['a'])])
    expect(refusalOf(edit).message).toBe('Two parsers read this file differently. Write it in a simpler way')
})

test('a TOML entry with a table of its own below it can be disabled', () => {
  const format = formatOf('toml', { comments: false, trailingCommas: false, bom: false })
  const text = '[mcp_servers.x]\ncommand = "a"\n\n[mcp_servers.x.env]\nK = "v"\n'
  const operations = [{ path: ['mcp_servers', 'x', 'enabled'], value: false }]
  expect(applyOperations(format, 'config.toml', text, operations, undefined).text).toBe(
    text.replace('"a"\n', '"a"\nenabled = false\n'),
  )
})

describe('a format with a memory', () => {
  const ORDINARY = { comments: false, trailingCommas: false, bom: false }
  const LONG = `{"history": "${'x'.repeat(100_000)}", "servers": {"a": 1}}`

  /** JSON, with the number of texts that its two parsers have read. */
  function counted() {
    const json = jsonFormat(ORDINARY)
    const count = { parse: 0, readAgain: 0 }
    const format = verifiedFormat({
      maxBytes: json.maxBytes,
      acceptsBom: false,
      parse: (text) => {
        count.parse += 1
        return { text, json: json.read(text) }
      },
      readAgain: (text) => {
        count.readAgain += 1
        return json.readAgain(text)
      },
      find: () => 0,
      set: ({ text }, path, value) => ({ text: json.set(text, path, value).text, at: 0 }),
      remove: ({ text }, path) => ({ text: json.remove(text, path), at: 0 }),
    })
    return { format: format.remembering(), count }
  }

  test('parses a long text once, however often it is read, until it has another content', () => {
    const { format, count } = counted()
    const value = format.read(LONG)
    for (let n = 0; n < 10; n += 1) {
      // A new string with the same characters, as a file gives it.
      expect(format.read(Buffer.from(LONG).toString())).toBe(value)
      format.lines(LONG)(['servers'])
      format.find(LONG, ['servers'])
    }
    expect(count).toEqual({ parse: 1, readAgain: 0 })
    expect(format.read(LONG.replace('1}', '2}'))).toMatchObject({ servers: { a: 2 } })
    expect(format.read(LONG)).toMatchObject({ servers: { a: 1 } })
    expect(count.parse).toBe(3)
  })

  test('parses a long text once for each of several operations, with each of its parsers', () => {
    const { format, count } = counted()
    const operations = Array.from({ length: 20 }, (_, n) => ({
      path: ['servers', `s${n % 10}`],
      value: n < 10 ? n : undefined,
    }))
    format.read(LONG)
    expect(applyOperations(format, 'a.json', LONG, operations, undefined).text).toBe(LONG)
    expect(count).toEqual({ parse: 20, readAgain: 21 })
  })

  test('forgets a text that was not read for 30 s, so that a large file does not stay in memory', () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { format, count } = counted()
    for (const pauseMs of [0, 20_000, 20_000, 31_000]) {
      vi.advanceTimersByTime(pauseMs)
      format.read(LONG)
    }
    expect(count.parse).toBe(2)
  })

  test('reads the file of an agent that was listed before without parsing it again', () => {
    const format = formatOf('json', ORDINARY)
    expect(formatOf('json', ORDINARY)).toBe(format)
    expect(format.read(LONG)).toBe(format.read(`${LONG}`))
  })
})

function refusalOf(work: () => unknown): CannotEdit {
  try {
    work()
  } catch (error) {
    if (error instanceof CannotEdit) return error
    throw error
  }
  throw new Error('The edit was accepted')
}
