import fc from 'fast-check'
import type { Schema } from './openapi.ts'

/** A value that no error may repeat. It is used as a value, never as a name. */
export const CANARY = 'canary-7Qw9ZrT4'

const SPECIAL = [
  '',
  ' ',
  '\0',
  '\ud800',
  '\uffff',
  '\u202e',
  '\u200b',
  '\r\nX-Evil: 1',
  '../../etc/passwd',
  "'; drop table audit; --",
  '<script>alert(1)</script>',
  '%00',
  '%zz',
  '$(id)',
  '{{7*7}}',
  '__proto__',
  'constructor',
  'toString',
  '***',
  '-0',
  'NaN',
  'null',
  'true',
  '[]',
  '1e400',
  '𝒳'.repeat(40),
  'é'.repeat(300),
]

/** Any character but half of a surrogate pair. fast-check's unit `binary` would build a table of all of them. */
const SURROGATES = { from: 0xd800, count: 0x800 }
const anyCharacter = fc
  .nat(0x10ffff - SURROGATES.count)
  .map((n) => String.fromCodePoint(n < SURROGATES.from ? n : n + SURROGATES.count))

const name = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...SPECIAL) },
  { weight: 3, arbitrary: fc.string({ maxLength: 20 }) },
  { weight: 2, arbitrary: fc.string({ unit: anyCharacter, maxLength: 20 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 40_000 }).map((length) => 'x'.repeat(length)) },
)

const text = fc.oneof({ weight: 9, arbitrary: name }, fc.constantFrom(CANARY, `--token=${CANARY}`))

const numeric = fc.constantFrom<number>(
  0,
  -0,
  -1,
  1,
  1.5,
  1e9,
  2 ** 53,
  -(2 ** 53),
  1e308,
  5e-324,
  2 ** 31,
  101,
  1001,
)

/** Any JSON value. */
export const anything: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    text,
    numeric,
    fc.constantFrom(null, true, false),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
})).value

const UPPER_CASE = fc.stringMatching(/^[A-Z][A-Z_]{0,9}$/)
const prepared = new Map<string, fc.Arbitrary<string>>()

const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\r', '\n'), maxLength: 2 })

/** A string as JSON.stringify writes it, or with every UTF-16 unit as an escape. */
const spelledText = fc.tuple(text, fc.boolean()).map(([value, isEscaped]) => {
  const escaped = Array.from(value, (_, at) => `\\u${value.charCodeAt(at).toString(16).padStart(4, '0')}`)
  return isEscaped && value.length < 50 ? `"${escaped.join('')}"` : JSON.stringify(value)
})

const SPELLED = [
  ...[
    '1234567890123456789',
    '18446744073709551615',
    '-0',
    '-0.0',
    '0.10',
    '1.0',
    '1.50',
    '1E2',
    '1e+2',
    '1e-7',
  ],
  ...['1e400', '-1e400', '5E-324', '2e-400', '12345678901234567890.12345678901234567890', 'true', 'null'],
]

/** The text of a JSON object that JSON.parse and JSON.stringify would change: digits, duplicate keys, escapes, whitespace. */
export const objectText: fc.Arbitrary<string> = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(...SPELLED),
    spelledText,
    fc
      .tuple(space, fc.array(tie('value'), { maxLength: 4 }))
      .map(([gap, items]) => `[${items.join(`${gap},`)}]`),
    tie('object'),
  ),
  object: fc
    .array(fc.tuple(fc.oneof(fc.constantFrom('"a"', '"\\u0061"'), spelledText), space, tie('value'), space), {
      maxLength: 4,
    })
    .map(
      (members) => `{${members.map(([key, b, value, d]) => `${b}${key}${d}:${b}${value}${d}`).join(',')}}`,
    ),
})).object

/** Values that match the schema. */
export function fitting(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(fitting))
  switch (schema.type) {
    case 'string':
      return fittingText(schema)
    case 'integer':
    case 'number':
      return fc.integer({ min: schema.minimum ?? -1000, max: schema.maximum ?? 1000 })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return fittingArray(schema, fitting(schema.items ?? {}))
    case 'object':
      return fittingObject(schema)
    default:
      return anything
  }
}

/** Values that do not match, with one fault each. Undefined if every value matches. */
export function broken(schema: Schema): fc.Arbitrary<unknown> | undefined {
  if (schema.anyOf) {
    const takesNull = schema.anyOf.some(({ type }) => type === 'null')
    const [inner] = schema.anyOf.filter(({ type }) => type !== 'null')
    return inner && broken(inner)?.filter((value) => value !== null || !takesNull)
  }
  if (schema.enum) return anything.filter((value) => !schema.enum?.includes(value))
  switch (schema.type) {
    case 'string':
      return brokenText(schema)
    case 'integer':
      return brokenInteger(schema)
    case 'boolean':
      return anything.filter((value) => typeof value !== 'boolean')
    case 'array':
      return brokenArray(schema)
    case 'object':
      return brokenObject(schema)
    default:
      return undefined
  }
}

function fittingText({ minLength = 0, maxLength = 200, pattern }: Schema): fc.Arbitrary<string> {
  const plain = fc.oneof(
    fc.string({ minLength, maxLength: Math.min(maxLength, 30) }),
    fc.constantFrom(CANARY),
  )
  if (pattern === undefined) return plain
  const exact = new RegExp(pattern)
  const sized = (value: string) => value.length >= minLength && value.length <= maxLength && exact.test(value)
  return matching(pattern).filter(sized)
}

/** fast-check takes milliseconds to prepare a pattern, and most patterns occur in many operations. */
function matching(pattern: string): fc.Arbitrary<string> {
  const known = prepared.get(pattern)
  if (known) return known
  const made = fc.stringMatching(new RegExp(withoutLookahead(pattern)), { size: '-1' })
  prepared.set(pattern, made)
  return made
}

/** fast-check cannot generate strings for a lookahead; forbidden strings are filtered out afterwards. */
function withoutLookahead(pattern: string): string {
  const start = pattern.indexOf('(?!')
  if (start < 0) return pattern
  let depth = 0
  for (let at = start; at < pattern.length; at += 1) {
    if (pattern[at] === '(') depth += 1
    else if (pattern[at] === ')' && --depth === 0)
      return withoutLookahead(pattern.slice(0, start) + pattern.slice(at + 1))
  }
  return pattern
}

function fittingArray(
  { maxItems = 5, uniqueItems }: Schema,
  item: fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown[]> {
  const maxLength = Math.min(maxItems, 4)
  return uniqueItems ? fc.uniqueArray(item, { maxLength }) : fc.array(item, { maxLength })
}

function fittingObject(schema: Schema): fc.Arbitrary<Record<string, unknown>> {
  const { properties = {}, required = [], additionalProperties, minProperties = 0 } = schema
  const named = Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, fitting(field)]))
  const known = fc.record(named, { requiredKeys: [...required] })
  if (typeof additionalProperties !== 'object' && additionalProperties !== true) {
    return known.filter((value) => Object.keys(value).length >= minProperties)
  }
  const value = additionalProperties === true ? anything : fitting(additionalProperties)
  return fc.dictionary(UPPER_CASE, value, { maxKeys: 4 })
}

function brokenText({ minLength = 0, maxLength, pattern }: Schema): fc.Arbitrary<unknown> {
  const ways: fc.Arbitrary<unknown>[] = [anything.filter((value) => typeof value !== 'string')]
  ways.push(fc.constantFrom('a\0b', '\ud800', 'a\udc00b'))
  if (minLength > 0) ways.push(fc.constant(''))
  if (maxLength !== undefined) ways.push(fc.nat(3).map((more) => 'a'.repeat(maxLength + 1 + more)))
  if (pattern !== undefined) ways.push(text.filter((value) => !new RegExp(pattern).test(value)))
  return fc.oneof(...ways)
}

function brokenInteger({ minimum, maximum }: Schema): fc.Arbitrary<unknown> {
  const ways: fc.Arbitrary<unknown>[] = [anything.filter((value) => !Number.isInteger(value))]
  if (minimum !== undefined) ways.push(fc.nat(9).map((less) => minimum - 1 - less))
  if (maximum !== undefined) ways.push(fc.nat(9).map((more) => maximum + 1 + more))
  return fc.oneof(...ways)
}

function brokenArray(schema: Schema): fc.Arbitrary<unknown> {
  const item = schema.items ?? {}
  const ways: fc.Arbitrary<unknown>[] = [anything.filter((value) => !Array.isArray(value))]
  const { maxItems } = schema
  if (maxItems !== undefined)
    ways.push(fc.constant(Array.from({ length: maxItems + 1 }, (_, index) => `a${index}`)))
  if (schema.uniqueItems) ways.push(fitting(item).map((value) => [value, value]))
  const bad = broken(item)
  if (bad)
    ways.push(
      fc.tuple(fittingArray({ maxItems: 3 }, fitting(item)), bad).map(([good, one]) => [...good, one]),
    )
  return fc.oneof(...ways)
}

function brokenObject(schema: Schema): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties, minProperties = 0, maxProperties } = schema
  const whole = fittingObject(schema)
  const isOther = (value: unknown) => typeof value !== 'object' || value === null || Array.isArray(value)
  const ways: fc.Arbitrary<unknown>[] = [anything.filter(isOther)]
  if (minProperties > 0) ways.push(fc.constant({}))
  if (required.length > 0) {
    const without = ([value, name]: [Record<string, unknown>, string]) =>
      Object.fromEntries(Object.entries(value).filter(([key]) => key !== name))
    ways.push(fc.tuple(whole, fc.constantFrom(...required)).map(without))
  }
  const extra = name.filter((each) => !Object.hasOwn(properties, each))
  if (additionalProperties === false) {
    ways.push(
      fc
        .tuple(whole, extra, anything)
        .map(([value, field, more]) => ({ ...value, ...ownField(field, more) })),
    )
  }
  if (maxProperties !== undefined) {
    const keys = Array.from({ length: maxProperties + 1 }, (_, index) => [`K${index}`, 'x'])
    ways.push(fc.constant(Object.fromEntries(keys)))
  }
  const bad = typeof additionalProperties === 'object' ? broken(additionalProperties) : undefined
  if (bad) ways.push(fc.tuple(whole, bad).map(([value, one]) => ({ ...value, BROKEN: one })))
  for (const [name, field] of Object.entries(properties)) {
    const wrong = broken(field)
    if (wrong) ways.push(fc.tuple(whole, wrong).map(([value, one]) => ({ ...value, [name]: one })))
  }
  return fc.oneof(...ways)
}

/** `{ ['__proto__']: x }` as JSON parses it: a field, not a prototype. */
function ownField(name: string, value: unknown): Record<string, unknown> {
  return Object.defineProperty({}, name, { value, enumerable: true, configurable: true, writable: true })
}
