import { expect, test } from 'vitest'
import { type Line, textOf } from '../run/printed-line.ts'
import { ok, problem, sectionLines } from './finding.ts'

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

test('without a terminal, every finding of doctor is one line', () => {
  expect(sectionLines({ name: 'Agents', findings: [LONG] }).map(plainText)).toEqual([
    `Agents     ✕ ${LONG.text}   see: ${LONG.see}`,
  ])
})
