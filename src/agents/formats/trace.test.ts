import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { applyPatch, patchOf } from '../diff/text-patch.ts'
import { formatOf } from './apply-operations.ts'

const DIALECT = { comments: true, trailingCommas: true, bom: true }
const PATH = ['mcpServers', 'new']
const VALUE = { command: 'npx' }

/** A file of one agent's settings without servers, as another program writes it. */
const json = (settings: object, indent: number) => JSON.stringify(settings, null, indent)
const toml = (settings: Readonly<Record<string, number>>) =>
  Object.entries(settings)
    .map(([name, value]) => `${name} = ${value}\n`)
    .join('')

const settings = fc.dictionary(fc.stringMatching(/^[a-l]{1,6}$/), fc.integer({ min: 0, max: 999 }), {
  minKeys: 1,
  maxKeys: 5,
})

test('after a program has written the whole JSON file again, the trace still removes what was made for our entry', () => {
  const format = formatOf('json', DIALECT)
  let unpatched = 0
  void fc.assert(
    fc.property(
      settings,
      settings,
      fc.constantFrom(0, 2, 4),
      fc.constantFrom(0, 2, 4),
      (one, other, from, to) => {
        const before = json(one, from)
        const { text, trace } = format.set(before, PATH, VALUE)
        const rewritten = json({ mcpServers: JSON.parse(text).mcpServers, ...other }, to)
        expect(format.remove(rewritten, PATH, trace)).toBe(json(other, to))
        if (applyPatch(rewritten, patchOf(text, before)) !== json(other, to)) unpatched += 1
      },
    ),
  )
  expect(unpatched, 'a patch could do the same').toBeGreaterThan(0)
})

test('the trace removes what was made for our entry, in whichever order entries leave', () => {
  for (const [format, textOf] of [
    [formatOf('json', DIALECT), (of: Record<string, number>) => json(of, 2)],
    [formatOf('toml', DIALECT), toml],
    [formatOf('yaml', DIALECT), (of: Record<string, number>) => toml(of).replaceAll(' =', ':')],
  ] as const)
    void fc.assert(
      fc.property(settings, fc.boolean(), (of, isFirst) => {
        const before = textOf(of)
        const first = format.set(before, PATH, VALUE)
        const both = format.set(first.text, ['mcpServers', 'second'], VALUE)
        const order = isFirst ? ['new', 'second'] : ['second', 'new']
        const left = order.reduce(
          (text, name) => format.remove(text, ['mcpServers', name], first.trace),
          both.text,
        )
        expect(left).toBe(before)
      }),
    )
})
