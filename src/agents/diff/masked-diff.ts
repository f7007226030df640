import { MASK, maskArgs, maskUrl } from '../../kernel/secrets/mask-secrets.ts'
import { publicArgs, publicCommand } from '../../kernel/secrets/public-command.ts'
import type { Json } from '../catalogue/json-value.ts'
import type { Definition } from '../catalogue/server-definition.ts'
import { isComment, type OwnerText, ownerText } from './owner-text.ts'

/** Values in agents' files that are never secrets. */
const KEYWORDS = [
  '*',
  'stdio',
  'local',
  'remote',
  'http',
  'sse',
  'streamable-http',
  'streamable_http',
  'streamableHttp',
  'cmd',
  '/c',
]

/**
 * What a diff may show of these servers: commands, arguments, folders and URLs, but no environment and no headers. The
 * owner, who has the token, sees more of a command, and of a file that was parsed (`roots`) comments, paths and models.
 */
export function visibleText(
  reader: 'owner' | 'public',
  definitions: readonly Definition[],
  names: readonly string[],
  roots: readonly Json[] = [],
): VisibleText {
  const visible = new Map([...KEYWORDS, ...names].map((word) => [word, word]))
  for (const definition of definitions) {
    if (definition.type === 'stdio') {
      const { command, args, cwd } = definition
      const words = [command, ...args]
      const shown =
        reader === 'owner' ? maskArgs(words) : [publicCommand(command), ...publicArgs(command, args)]
      for (const [index, masked] of shown.entries()) visible.set(words[index] ?? '', masked)
      if (cwd !== null) visible.set(cwd, cwd)
    } else visible.set(definition.url, maskUrl(definition.url))
  }
  // A secret may equal a string that is visible elsewhere. Then it is hidden, unless it is the name of a server.
  for (const value of definitions.flatMap(valuesOf)) if (!names.includes(value)) visible.delete(value)
  if (reader === 'public' || roots.length === 0) return { known: visible }
  return { known: visible, owner: ownerText(roots, definitions.flatMap(valuesOf)) }
}

const valuesOf = (definition: Definition): string[] =>
  Object.values(definition.type === 'stdio' ? definition.env : definition.headers)

export interface VisibleText {
  /** Strings that may be shown, each with its masked form. */
  readonly known: ReadonlyMap<string, string>
  /** Without it, all other strings and all comments are hidden. */
  readonly owner?: OwnerText
}

const PLAIN = /^(?:true|false|null|~|-|---|[+-]?\d[\d_.eE+-]*)$/
const HEADER = /^\s*\[\[?[^\]]*\]\]?/

/**
 * A line of an agent's file without its secrets. Keys, brackets and numbers stay, and so do strings that are known to
 * be harmless. Everything else (parts of multi-line strings, for the public also comments) is hidden, because it may contain
 * a secret.
 * The time is linear: a minified file is one line of several megabytes.
 */
export function maskLine(line: string, visible: VisibleText): string {
  const header = HEADER.exec(line)?.[0] ?? ''
  const isHeader = header !== '' && /^\s*(?:#.*)?$/s.test(line.slice(header.length))
  if (isHeader) return header
  const out = new MaskedText()
  const tokens = new Tokens(line)
  let [before, waiting, gap] = ['', '', '']
  let key: string | undefined
  let value: string | undefined
  const add = (token: string, isKey: boolean) => {
    const isRemark = visible.owner !== undefined && out.isAfterBlank && isComment(token)
    out.add(isRemark ? visible.owner.comment(token) : shown(token, isKey, visible, { key, before: value }))
    if (isKey) key = bare(token)
    else if (!SIGNS.includes(token)) value = bare(token)
    if (isKey || token === ']' || token === '}') value = undefined
  }
  // Whether a token is a key depends on the tokens around it.
  for (let token = tokens.next(); token !== ''; token = tokens.next()) {
    if (isBlankAt(token, 0)) {
      gap = token
      continue
    }
    // `abc==` at the end of a line is a value in base64: only YAML has keys without a value on their line.
    const isKeySign = token === ':' || (token === '=' && !tokens.isAtEnd)
    if (waiting !== '') add(waiting, isKeySign && BEFORE_KEYS.includes(before))
    if (gap !== '') out.gap(gap)
    before = waiting
    waiting = token
    gap = ''
  }
  if (waiting !== '') add(waiting, false)
  if (gap !== '') out.gap(gap)
  return out.text
}

/** A key stands at the beginning of a line, of a map or of a member. After a sign or a word it is a value. */
const BEFORE_KEYS = ['', '-', '{', ',', '[', '}', ']']

/** Adjacent masks become one: `*** ***` is `***`. */
class MaskedText {
  readonly #parts: string[] = []
  #gap = ''
  #isMasked = false

  add(part: string): void {
    if (part !== MASK || !this.#isMasked || this.#gap === '') {
      if (this.#gap !== '') this.#parts.push(this.#gap)
      this.#parts.push(part)
    }
    this.#gap = ''
    this.#isMasked = part.length >= MASK.length && part.endsWith(MASK)
  }

  gap(blank: string): void {
    this.#gap = blank
  }

  /** At the beginning, or after a blank. */
  get isAfterBlank(): boolean {
    return this.#parts.length === 0 || this.#gap !== ''
  }

  get text(): string {
    return this.#parts.join('') + this.#gap
  }
}

interface Place {
  readonly key: string | undefined
  /** The string before it in a list. */
  readonly before: string | undefined
}

const bare = (token: string): string => token.replace(/^["']|["']$/g, '')

function shown(token: string, isKey: boolean, visible: VisibleText, place: Place): string {
  if (token.length === 1 && SIGNS.includes(token)) return token
  if (token[0] === '#') return `# ${MASK}`
  if (token.startsWith('//') || token.startsWith('/*')) return `// ${MASK}`
  return isKey || PLAIN.test(token) ? token : masked(token, visible, place)
}
const SIGNS = '{}[],:='

function masked(token: string, { known: all, owner }: VisibleText, { key, before }: Place): string {
  const first = token[0]
  const quote = first === '"' || first === "'" ? first : ''
  const text = quote === '' ? token : unquoted(token, quote)
  const known = all.get(text)
  if (known === undefined) return owner?.showsValue(text, key, before) ? token : HIDDEN[quote]
  return known === text ? token : `${quote}${known}${quote}`
}

const HIDDEN = { '"': `"${MASK}"`, "'": `'${MASK}'`, '': MASK }

function unquoted(token: string, quote: string): string {
  const inner = token.slice(1, -1)
  if (quote === "'") return inner.replaceAll("''", "'")
  // An exception for each of many strings would take longer than everything else.
  const isJson = inner.includes('\\') && token.length < LONGEST_VISIBLE && JSON_STRING.test(token)
  return isJson ? String(JSON.parse(token)) : inner
}
const LONGEST_VISIBLE = 40_000
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON does not allow them in a string
const JSON_STRING = /^"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[\da-fA-F]{4})*"$/

/** The characters of ASCII that end a word, and the blanks among them. */
const ENDS = marks(' \t\n\v\f\r{}[],"\'#')
const BLANKS = marks(' \t\n\v\f\r')
const AFTER_SIGN = marks(' \t\n\v\f\r"\'{[')
const BRACKETS = marks('{}[],')

function marks(characters: string): Uint8Array {
  const table = new Uint8Array(128)
  for (const character of characters) table[character.charCodeAt(0)] = 1
  return table
}

/** White space beyond ASCII. */
const WIDE_BLANKS =
  '\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'

function isBlankAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (code < 128) return BLANKS[code] === 1
  return (code === 0xa0 || code >= 0x1680) && WIDE_BLANKS.includes(text[at] ?? '')
}

const [COLON, EQUALS, SLASH] = [0x3a, 0x3d, 0x2f]

/**
 * Splits a line of a JSON, YAML or TOML file into quoted strings, comments, brackets, signs, blanks and words. A string
 * or comment that is not closed is the rest of the line. Each character is looked at once.
 */
class Tokens {
  readonly #line: string
  #at = 0

  constructor(line: string) {
    this.#line = line
  }

  /** Empty at the end. */
  next(): string {
    const start = this.#at
    if (start >= this.#line.length) return ''
    this.#at = this.#end(start)
    return this.#line.slice(start, this.#at)
  }

  /** Only blanks follow. */
  get isAtEnd(): boolean {
    return this.#endOfBlanks(this.#at) === this.#line.length
  }

  #end(at: number): number {
    const line = this.#line
    const sign = line[at] as string
    const code = line.charCodeAt(at)
    if (sign === '"' || sign === "'") return this.#endOfString(at + 1, sign)
    if (sign === '#' || (code === SLASH && line.charCodeAt(at + 1) === SLASH)) return line.length
    if (line.startsWith('/*', at)) return this.#endOfComment(at + 2)
    if (BRACKETS[code] === 1) return at + 1
    if ((code === COLON || code === EQUALS) && this.#endsSign(at + 1)) return at + 1
    if (code === COLON && this.#isAfterString(at)) return at + 1 // minified JSON: `"port":8665`
    return isBlankAt(line, at) ? this.#endOfBlanks(at + 1) : this.#endOfWord(at + 1)
  }

  #endOfString(from: number, quote: '"' | "'"): number {
    const line = this.#line
    for (let at = from; at < line.length; at += 1) {
      const sign = line[at]
      if (sign === '\\') at += 1
      else if (sign === quote) {
        if (quote === '"' || line[at + 1] !== quote) return at + 1
        at += 1 // a doubled quote
      }
    }
    return line.length
  }

  #endOfComment(from: number): number {
    const close = this.#line.indexOf('*/', from)
    return close === -1 ? this.#line.length : close + 2
  }

  #endOfBlanks(from: number): number {
    let at = from
    while (at < this.#line.length && isBlankAt(this.#line, at)) at += 1
    return at
  }

  /** A word may contain `:` and `=`, unless a blank or the end follows, and everything up to `//`. */
  #endOfWord(from: number): number {
    const line = this.#line
    for (let at = from; at < line.length; at += 1) {
      const code = line.charCodeAt(at)
      if (code < 128 ? ENDS[code] === 1 : isBlankAt(line, at)) return at
      if (code === SLASH && line.charCodeAt(at + 1) === SLASH) return at
      if ((code === COLON || code === EQUALS) && (at + 1 === line.length || isBlankAt(line, at + 1)))
        return at
    }
    return line.length
  }

  #isAfterString(at: number): boolean {
    return this.#line[at - 1] === '"' || this.#line[at - 1] === "'"
  }

  #endsSign(at: number): boolean {
    const code = this.#line.charCodeAt(at)
    return at === this.#line.length || (code < 128 ? AFTER_SIGN[code] === 1 : isBlankAt(this.#line, at))
  }
}
