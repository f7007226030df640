import fc from 'fast-check'
import { expect, test } from 'vitest'
import { batchLine, UnsafeArgument } from './batch-files.ts'
import { splitCommandLine } from './windows-process-table.ts'

const FILE = 'C:\\Program Files (x86)\\a&b\\100%\\tool.cmd'
const argument = fc.string({ unit: fc.constantFrom(...'ab \\"%&|<>^!()\';,=\t'), maxLength: 20 })

/** The arguments in the line, as they are written there and as cmd.exe passes them on: without the carets. */
function argumentsIn(line: readonly string[]) {
  const [start, end] = [`""${FILE}"`, '"']
  expect(line.slice(0, 3)).toEqual(['/d', '/s', '/c'])
  expect(line[3]?.startsWith(start) && line[3].endsWith(end)).toBe(true)
  const written = line[3]?.slice(start.length, -end.length) ?? ''
  return { written, passedOn: written.replace(/\^(.)/gs, '$1') }
}

test('a program behind a batch file gets the arguments as they were', () => {
  fc.assert(
    fc.property(fc.array(argument), (args) => {
      const { passedOn } = argumentsIn(batchLine([FILE, ...args]))
      expect(splitCommandLine(passedOn)).toEqual(args)
    }),
  )
})

test('no character of an argument is special to cmd.exe, neither in its command line nor in the batch file', () => {
  fc.assert(
    fc.property(fc.array(argument), (args) => {
      const { written, passedOn } = argumentsIn(batchLine([FILE, ...args]))
      expect(written.replace(/\^./gs, '')).not.toMatch(/["%&|<>!()]/)
      expect(passedOn.replace(/"[^"]*"/g, '')).toMatch(/^ *$/) // everything is in quotes, which are balanced
    }),
  )
})

test.each(['\0', '\r', '\n'])('the character %j cannot be escaped, and is refused', (char) => {
  expect(() => batchLine([FILE, `a${char}b`])).toThrow(UnsafeArgument)
})

test.each([
  ['"C:\\Program Files\\nodejs\\node.exe"  server.js', ['C:\\Program Files\\nodejs\\node.exe', 'server.js']],
  ['a "" b', ['a', '', 'b']],
  ['a\\b "c\\\\" "d\\"e" f\\\\\\"g', ['a\\b', 'c\\', 'd"e', 'f\\"g']],
  ['"unfinished text', ['unfinished text']],
  ['  ', []],
])('the command line %s is split as the C runtime of Windows does', (line, args) => {
  expect(splitCommandLine(line)).toEqual(args)
})
