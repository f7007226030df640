import { expect, test } from 'vitest'
import { type Line, textOf } from '../run/printed-line.ts'
import { fixLines, none, ok, problem, sectionLines } from './finding.ts'

const LONG = problem(
  'cursor: it gets its tools through Toolroom, which is not running',
  'toolroom up, or toolroom agents disconnect cursor',
)

const plainText = (line: Line): string => (typeof line === 'string' ? line : line.map(textOf).join(''))

test('on a terminal, doctor ends its lines between words, and no line is wider than the terminal', () => {
  const lines = sectionLines({ name: 'Agents', findings: [ok('codex'), LONG] }, 72).map(plainText)
  expect(lines).toEqual([
    'Agents     ✓ codex',
    '           ✕ cursor: it gets its tools through Toolroom, which is not',
    '             running',
    '             see: toolroom up, or toolroom agents disconnect cursor',
  ])
})

test.each([40, 80])(
  'in a terminal of %i columns, no line of doctor is wider, and no word is broken',
  (width) => {
    const engine = none(
      'containers: There is no container engine: neither podman.sock nor docker.sock exists (not needed)',
    )
    const fix = {
      does: 'Set the command of notes to ~/bin/notes-mcp',
      undo: 'toolroom edit notes',
      apply: async () => {},
    }
    const fixes = [{ ...fix, finding: LONG, done: true, error: null }]
    const lines = [
      ...sectionLines({ name: 'Agents', findings: [ok('codex'), engine, LONG] }, width),
      ...fixLines(fixes, false, width),
      ...fixLines(fixes, true, width),
    ].map(plainText)
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(width)
    const words = lines.join(' ').split(/\s+/)
    for (const word of `${engine.text} ${LONG.text} ${LONG.see} ${fix.does}`.split(' '))
      expect(words.map((each) => each.replace(/\.$/, ''))).toContain(word)
  },
)

test('without a terminal, every finding of doctor is one line', () => {
  expect(sectionLines({ name: 'Agents', findings: [LONG] }).map(plainText)).toEqual([
    `Agents     ✕ ${LONG.text}   see: ${LONG.see}`,
  ])
})
