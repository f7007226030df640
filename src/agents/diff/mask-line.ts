import { MASK } from '../../kernel/secrets/secrets.ts'
import { isBlankAt, Tokens } from './tokens.ts'

/** Strings that may be shown, each with its masked form. All other strings are hidden. */
export type VisibleText = ReadonlyMap<string, string>

const PLAIN = /^(?:true|false|null|~|-|---|[+-]?\d[\d_.eE+-]*)$/
const HEADER = /^\s*\[\[?[^\]]*\]\]?/

/**
 * A line of an agent's file without its secrets. Keys, brackets and numbers stay, and so do strings that are known to
 * be harmless. Everything else (comments, parts of multi-line strings) is hidden, because it may contain a secret.
 * The time is linear: a minified file is one line of several megabytes.
 */
export function maskLine(line: string, visible: VisibleText): string {
  const header = HEADER.exec(line)?.[0] ?? ''
  const isHeader = header !== '' && /^\s*(?:#.*)?$/s.test(line.slice(header.length))
  if (isHeader) return header
  const out = new MaskedText()
  const tokens = new Tokens(line)
  let [before, waiting, gap] = ['', '', '']
  // Whether a token is a key depends on the tokens around it.
  for (let token = tokens.next(); token !== ''; token = tokens.next()) {
    if (isBlankAt(token, 0)) {
      gap = token
      continue
    }
    // `abc==` at the end of a line is a value in base64: only YAML has keys without a value on their line.
    const isKeySign = token === ':' || (token === '=' && !tokens.isAtEnd)
    if (waiting !== '') out.add(shown(waiting, isKeySign && BEFORE_KEYS.includes(before), visible))
    if (gap !== '') out.gap(gap)
    before = waiting
    waiting = token
    gap = ''
  }
  if (waiting !== '') out.add(shown(waiting, false, visible))
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

  get text(): string {
    return this.#parts.join('') + this.#gap
  }
}

function shown(token: string, isKey: boolean, visible: VisibleText): string {
  if (token.length === 1 && SIGNS.includes(token)) return token
  if (token[0] === '#') return `# ${MASK}`
  if (token.startsWith('//') || token.startsWith('/*')) return `// ${MASK}`
  return isKey || PLAIN.test(token) ? token : masked(token, visible)
}
const SIGNS = '{}[],:='

function masked(token: string, visible: VisibleText): string {
  const first = token[0]
  const quote = first === '"' || first === "'" ? first : ''
  const text = quote === '' ? token : unquoted(token, quote)
  const known = visible.get(text)
  if (known === undefined) return HIDDEN[quote]
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
