import fc from 'fast-check'
import type { Path } from '../../../src/agents/catalogue/json-value.ts'

/** Generated YAML files, realistic and unusual ones. */
export interface Sample {
  readonly text: string
  /** Where the entries are: below `extensions`, in the list `mcpServers`, or in a list of names. */
  readonly kind: 'map' | 'list' | 'names'
  /** The style of the container; `block` has entries on their own lines. */
  readonly place: 'missing' | 'empty' | 'flow' | 'block'
  readonly names: readonly string[]
}

export const sample: fc.Arbitrary<Sample> = fc
  .uint8Array({ minLength: 0, maxLength: 160, size: 'max' })
  .map((bytes) => new Writer(bytes).file())

export function pathIn({ kind }: Sample, name: string): Path {
  if (kind === 'map') return ['extensions', name]
  if (kind === 'list') return ['mcpServers', { field: 'name', is: name }]
  return ['mcp', 'disabledMcpServers', { item: name }]
}

const NAMES = ['dev', 'memory', 'jet.brains', 'my server', 'yes', 'größe', '@scope/x']
const PLAIN =
  "gpt-4|yes|1|1.5|null|~|true|2024-01-01|0o14|0x1f|1e3|.inf|-1|12:30|0777|+1|1_000|.5|5.|a b c|http://x/y?z=1#f|''|'it''s # no comment'|\"dou\\\"ble \\u00e9\\n\"|日本語 ✓ 😀|-x|a:b|''''|\"\"|[]|{}|[a, \"b\", {c: d}]|{x: 1, y: [2, 3,], }|['#', \"}\"]|False|NULL|0b11|1e-7|-0|99999999999999999999".split(
    '|',
  )
const TOP = ['GOOSE_MODEL', 'model', '"quoted: name"', "'it''s'", 'ключ', 'prompt', '1']

class Writer {
  readonly #bytes: Uint8Array
  readonly #lines: string[] = []
  #at = 0
  #unit = 2
  #list = 2

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  file(): Sample {
    this.#unit = this.#of([2, 2, 4, 3])
    this.#list = this.#of([2, 0, this.#unit])
    this.#lines.push(...this.#of([[], [], ['---'], ['--- # start'], ['%YAML 1.2', '---'], ['# head', '']]))
    const kind = this.#of(['map', 'map', 'list', 'names'] as const)
    const names = NAMES.slice(this.#pick(3)).slice(0, this.#pick(4))
    const before = this.#pick(3)
    for (let i = 0; i < before; i += 1) this.#entry(0, TOP[i] as string, 0)
    const place = this.#place(kind, names)
    const after = this.#pick(3)
    for (let i = 0; i < after; i += 1) this.#entry(0, TOP[before + i] as string, 0)
    this.#lines.push(...this.#of([[], [], [''], ['', '  ', ''], ['# the end'], ['...'], ['...', '# after']]))
    const eol = this.#of(['\n', '\n', '\r\n'])
    const text = this.#lines.join(eol) + (this.#pick(4) === 3 || this.#lines.length === 0 ? '' : eol)
    return {
      text: (this.#pick(8) === 7 ? '\ufeff' : '') + text,
      kind,
      place,
      names: place === 'missing' ? [] : names,
    }
  }

  #place(kind: Sample['kind'], names: readonly string[]): Sample['place'] {
    const spelling = this.#pick(6)
    if (spelling === 5) return 'missing'
    if (kind === 'names') this.#lines.push(`mcp:${this.#comment()}`)
    const column = kind === 'names' ? this.#unit : 0
    const key = `${' '.repeat(column)}${{ map: 'extensions', list: 'mcpServers', names: 'disabledMcpServers' }[kind]}:`
    if (names.length === 0) this.#empty(key, column, kind)
    else if (spelling === 4) this.#flow(key, column, kind, names)
    else this.#block(key, column, kind, names)
    return names.length === 0 ? 'empty' : spelling === 4 ? 'flow' : 'block'
  }

  #empty(key: string, column: number, kind: string): void {
    const [open, close] = kind === 'map' ? '{}' : '[]'
    const inner = ' '.repeat(column + 1)
    const spellings = ['', ' ~', ' null', ` ${open}${close}`, ` ${open} ${close}`, `  ${open}   ${close}`]
    const choice = this.#pick(spellings.length + 2)
    if (choice < spellings.length) this.#lines.push(key + spellings[choice] + this.#comment())
    else if (choice === spellings.length)
      this.#lines.push(`${key} ${open}`, `${inner}${close}${this.#comment()}`)
    else this.#lines.push(`${key} ${open} # none`, `${inner} # yet`, `${inner}${close}`)
    this.#between(column)
  }

  #flow(key: string, column: number, kind: Sample['kind'], names: readonly string[]): void {
    const [open, close] = kind === 'map' ? '{}' : '[]'
    const items = names.map((name) => {
      if (kind === 'names') return JSON.stringify(name)
      return kind === 'map'
        ? `${JSON.stringify(name)}: {type: stdio}`
        : `{"name": ${JSON.stringify(name)}, "command": "x"}`
    })
    if (this.#pick(2) === 0) {
      const comma = this.#of(['', ',', ' , '])
      this.#lines.push(`${key} ${open}${items.join(', ')}${comma}${close}${this.#comment()}`)
      return
    }
    const indent = ' '.repeat(column + this.#unit)
    this.#lines.push(`${key} ${open}`)
    for (const [index, item] of items.entries()) {
      const comma = index < items.length - 1 ? ',' : this.#of(['', ','])
      this.#lines.push(indent + item + comma + this.#comment())
    }
    this.#lines.push(`${indent}${close}`)
  }

  #block(key: string, column: number, kind: Sample['kind'], names: readonly string[]): void {
    this.#lines.push(key + this.#comment())
    const inner = column + (kind === 'map' ? this.#unit : this.#list)
    for (const name of names) {
      this.#between(inner)
      const text = this.#quoted(name)
      if (kind === 'names') this.#lines.push(`${' '.repeat(inner)}- ${text}${this.#comment()}`)
      else if (kind === 'map') this.#lines.push(`${' '.repeat(inner)}${text}:${this.#comment()}`)
      else this.#lines.push(`${' '.repeat(inner)}- name: ${text}${this.#comment()}`)
      if (kind !== 'names') this.#fields(inner + (kind === 'map' ? this.#unit : 2), kind === 'map')
    }
    this.#between(inner)
  }

  #fields(column: number, atLeastOne: boolean): void {
    const fields = ['cmd', 'type', 'enabled', 'args', 'envs', 'description', '"x y"']
    const first = this.#pick(4)
    const count = this.#pick(4) + (atLeastOne ? 1 : 0)
    for (const name of fields.slice(first, first + count)) this.#entry(column, name, 1)
  }

  #entry(column: number, name: string, depth: number): void {
    const indent = ' '.repeat(column)
    const key = `${indent}${name}:`
    const deeper = ' '.repeat(column + this.#unit)
    this.#between(column)
    switch (name === 'enabled' || depth > 2 ? 0 : this.#pick(9)) {
      case 5: {
        const body = this.#of([
          ['text'],
          ['a', '', 'b'],
          ['# no comment', '  more'],
          ['x', '', ''],
          ['key: v', ' '],
        ])
        this.#lines.push(`${key} ${this.#of(['|', '>'])}${this.#of(['', '-', '+'])}${this.#comment()}`)
        for (const line of body) this.#lines.push(line.trim() === '' ? line : deeper + line)
        break
      }
      case 6:
        this.#lines.push(`${key} ${this.#of(['several words', '"open', "'it''s"])}`)
        this.#close(deeper)
        break
      case 7:
        this.#lines.push(key + this.#comment())
        for (const inner of ['a', 'b-c', 'd'].slice(this.#pick(3)))
          this.#entry(column + this.#unit, inner, depth + 1)
        break
      case 8:
        this.#lines.push(key + this.#comment())
        for (let i = this.#pick(3); i >= 0; i -= 1) {
          this.#lines.push(`${' '.repeat(column + this.#list)}- ${this.#of(PLAIN)}${this.#comment()}`)
          this.#between(column + this.#list)
        }
        break
      default:
        this.#lines.push(
          `${key}${this.#of(['', ' ', '   '])}`.trimEnd() + this.#scalar(name) + this.#comment(),
        )
    }
  }

  /** The second line of a two-line string. */
  #close(deeper: string): void {
    const last = this.#lines.at(-1) as string
    const end = last.endsWith('"open') ? 'closed"' : last.endsWith("'it''s") ? "so'" : 'and more'
    this.#lines.push(deeper + end + this.#comment())
  }

  #scalar(name: string): string {
    if (name === 'enabled') return ` ${this.#of(['true', 'false', 'yes', '"true"'])}`
    return this.#pick(9) === 8 ? '' : ` ${this.#of(PLAIN)}`
  }

  #quoted(name: string): string {
    const isPlain = /^[a-zA-Zß-ü. ]+$/.test(name) && name !== 'yes'
    return this.#of([isPlain ? name : `"${name}"`, `'${name}'`, `"${name}"`])
  }

  #comment(): string {
    return this.#of(['', '', '', '', ' # note', '  #: {x', ' '])
  }

  /** Comments and blank lines, also at a wrong indentation. */
  #between(column: number): void {
    const more = ' '.repeat(column)
    const lines = [`${more}# about it`, '# left', `${more}   # right`, '', '  ', `${more}# x: 1`, '#']
    for (let i = Math.max(0, this.#pick(8) - 5); i > 0; i -= 1) this.#lines.push(this.#of(lines))
  }

  #pick(count: number): number {
    const byte = this.#bytes[this.#at] ?? 0
    this.#at += 1
    return byte % count
  }

  #of<Value>(values: readonly Value[]): Value {
    return values[this.#pick(values.length)] as Value
  }
}
