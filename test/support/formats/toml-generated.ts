import type { Path } from '../../../src/agents/catalogue/json-value.ts'

/** A generated file. Each line records its entry, so that a test knows which lines an edit may change. */
export interface MadeFile {
  readonly text: string
  readonly form: Form
  readonly lines: readonly Line[]
  /** The names of the entries in it. */
  readonly entries: readonly string[]
  /** The path of the entry with that name, whether it exists or not. */
  readonly path: (name: string) => Path
}
interface Line {
  readonly text: string
  readonly owner: string | undefined
}

const FORMS = ['tables', 'none', 'header', 'list', 'inline', 'dotted', 'array', 'implied'] as const
type Form = (typeof FORMS)[number]

/** Every number on the tape is one choice; after its end the first option is chosen, so that failures shrink well. */
export function madeFile(tape: readonly number[]): MadeFile {
  const draw = new Draw(tape)
  const form = draw.pick(FORMS)
  const entries = NAMES.filter((_, index) => index < draw.upTo(4))
  const chunks = [...entryChunks(draw, form, entries), ...OTHERS.filter(() => draw.chance(3))]
  const top = [...TOP.filter(() => draw.chance(3)), ...topOf(draw, form, entries)]
  const lines: Line[] = []
  for (const pair of top) lines.push(...decorated(draw, [{ text: pair, owner: undefined }], 4))
  const isOrdered = form === 'list'
  for (const chunk of isOrdered ? chunks : draw.shuffled(chunks)) lines.push(...decorated(draw, chunk, 2))
  if (draw.chance(3)) lines.push({ text: draw.pick(COMMENTS), owner: undefined })
  const isList = form === 'list' || form === 'array'
  const path = (name: string): Path => ['mcp_servers', isList ? { field: 'name', is: name } : name]
  const isReal = form !== 'none'
  return { ...finished(draw, lines), form, entries: isReal ? entries : [], path }
}

class Draw {
  readonly #tape: readonly number[]
  #at = 0
  constructor(tape: readonly number[]) {
    this.#tape = tape
  }
  upTo(max: number): number {
    const drawn = this.#tape[this.#at] ?? 0
    this.#at += 1
    return drawn % (max + 1)
  }
  chance(oneIn: number): boolean {
    return this.upTo(oneIn - 1) === oneIn - 1
  }
  pick<T>(list: readonly [T, ...T[]] | readonly T[]): T {
    const picked = list[this.upTo(list.length - 1)]
    if (picked === undefined) throw new Error('Nothing to pick from')
    return picked
  }
  shuffled<T>(list: readonly T[]): T[] {
    return list
      .map((item) => ({ item, rank: this.upTo(9) }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ item }) => item)
  }
}

const NAMES = ['docs', 'my server', 'grüße.😀', 'a-1']
const COMMENTS = [
  '# note',
  '   # indented = "[x]"',
  '#',
  '# [mcp_servers.gone]',
  '# it\'s """ open',
  '#\tümlaut 😀',
]
const VALUES = [
  '"npx"',
  "'C:\\bin'",
  '"\\u00e9 # \\"q\\""',
  '["-y", "pkg"]',
  '[]',
  '[ ]',
  '[\n  "-y", # yes\n  # one more\n  "pkg",\n]',
  '[\n\t1,\n\t[2, 3]\n ]',
  '{ A = "1", "b c".d = [1,\n2] }',
  '{}',
  '"""\n[not.a.header]\n# no comment\n  """',
  "'''a = 1\n\n[x]'''",
  '1979-05-27T07:32:00Z',
  '0x_f'.replace('_', ''),
  '-1_000.5e3',
  'true',
] as const
const TOP = [
  'model = "gpt-5"',
  "'quoted key' = 1",
  'tui."the.me" = \'dark\'',
  'notes = """\n\n[x]\n"""',
  'list = [1,\n  2]',
]
const OTHERS = [
  ['[features]', 'web = true # on'],
  ['[[hooks]]', 'run = "a"', '[hooks.opt]', 'x = 1', '[[hooks]]'],
  ['[profiles."wo rk".deep]', 'k.l = { m = 1 }'],
  ['[profiles]'],
].map((texts) => texts.map((text): Line => ({ text, owner: undefined })))

function entryChunks(draw: Draw, form: Form, entries: readonly string[]): Line[][] {
  if (form === 'header')
    return [[line('[mcp_servers]')], ...entries.flatMap((name) => tablesOf(draw, name, true))]
  if (form === 'tables') return entries.flatMap((name) => tablesOf(draw, name, true))
  if (form === 'implied') return entries.flatMap((name) => tablesOf(draw, name, false))
  return form === 'list' ? entries.map((name) => elementOf(draw, name)) : []
}

function tablesOf(draw: Draw, name: string, hasHeader: boolean): Line[][] {
  const head = `mcp_servers.${quoted(draw, name)}`
  const chunks: Line[][] = []
  if (hasHeader) chunks.push(owned(name, [`[${head}]`, ...fields(draw)]))
  const pad = draw.chance(4) ? ' ' : ''
  if (!hasHeader || draw.chance(2))
    chunks.push(owned(name, [`[${pad}${head}.env${pad}]`, `K = ${draw.pick(VALUES)} # k`]))
  if (draw.chance(4)) chunks.push(owned(name, [`[[${head}.tools]]`, 'name = "t"', `[[${head}.tools]]`]))
  return chunks
}

function elementOf(draw: Draw, name: string): Line[] {
  const env = draw.chance(2) ? ['', '[mcp_servers.env]', 'K = "v"'] : []
  return owned(name, ['[[mcp_servers]]', `name = ${JSON.stringify(name)}`, ...fields(draw), ...env])
}

function fields(draw: Draw): string[] {
  const made = ['command = "npx" # run']
  if (draw.chance(2)) made.push(`args = ${draw.pick(VALUES)}`)
  if (draw.chance(3)) made.push('', '# inside', `opts.deep."x y" = ${draw.pick(VALUES)}`, `opts.b = 1`)
  if (draw.chance(3)) made.push('enabled = true')
  return made
}

/** The forms in which all entries are key/value pairs at the top of the file. */
function topOf(draw: Draw, form: Form, entries: readonly string[]): string[] {
  const names = entries.map((name) => quoted(draw, name))
  const gap = draw.pick(['', ' ', '  '])
  if (form === 'dotted')
    return names.flatMap((name) => [`mcp_servers.${name}.command = "npx"`, `mcp_servers.${name}.args=[]`])
  if (form === 'inline') {
    const inner = names.map((name) => `${name} = { command = "npx" }`).join(draw.pick([', ', ',']))
    return [`mcp_servers = {${gap}${inner}${inner && gap}}`]
  }
  if (form !== 'array') return []
  const items = entries.map((name) => `{ name = ${JSON.stringify(name)}, command = "npx" }`)
  if (draw.chance(2)) return [`mcp_servers = [${gap}${items.join(', ')}${items.length > 0 ? gap : ''}]`]
  const comma = items.length > 0 ? draw.pick(['', ',']) : ''
  return [
    `mcp_servers = [${draw.pick(['', ' # c'])}\n${items.map((item) => `  ${item}`).join(', # d\n')}${comma}\n  # e\n]`,
  ]
}

function quoted(draw: Draw, name: string): string {
  return /^[\w-]+$/.test(name) && !draw.chance(4) ? name : draw.pick([JSON.stringify(name), `'${name}'`])
}

function line(text: string): Line {
  return { text, owner: undefined }
}

function owned(owner: string, texts: readonly string[]): Line[] {
  return texts.map((text) => ({ text, owner }))
}

/** Empty lines and comments that belong to no entry. */
function decorated(draw: Draw, lines: readonly Line[], oneIn: number): Line[] {
  const before = draw.chance(oneIn) ? draw.pick([[''], ['', ''], [' \t'], ['', '# above'], ['# above']]) : []
  const after = draw.chance(4) ? [draw.pick(COMMENTS)] : []
  return [...before.map(line), ...lines, ...after.map(line)]
}

/** Indentation, line ends, BOM and the end of the file. */
function finished(draw: Draw, made: readonly Line[]): { text: string; lines: Line[] } {
  const eols = draw.pick([['\n'], ['\r\n'], ['\n', '\r\n']])
  const indent = draw.pick(['', '', '  ', '\t'])
  const isTight = draw.chance(5)
  const lines = made.map(({ text, owner }) => {
    const isHeader = text.startsWith('[')
    const spaced = isTight && /^[\w.]+ = /.test(text) ? text.replace(' = ', '=') : text
    const indented = isHeader || text.trim() === '' ? spaced : indent + spaced
    return { text: indented.replaceAll('\n', draw.pick(eols)) + draw.pick(eols), owner }
  })
  const end = draw.pick(['keep', 'open', 'blank', 'blanks'])
  if (end === 'blank') lines.push(line('\n'))
  if (end === 'blanks') lines.push(line('\t '))
  const last = lines.at(-1)
  if (end === 'open' && last) lines.splice(-1, 1, { ...last, text: last.text.replace(/\r?\n$/, '') })
  const bom = draw.chance(5) ? '\ufeff' : ''
  return { text: bom + lines.map(({ text }) => text).join(''), lines }
}
