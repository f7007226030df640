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

export function isBlankAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (code < 128) return BLANKS[code] === 1
  return (code === 0xa0 || code >= 0x1680) && WIDE_BLANKS.includes(text[at] ?? '')
}

const [COLON, EQUALS, SLASH] = [0x3a, 0x3d, 0x2f]

/**
 * Splits a line of a JSON, YAML or TOML file into quoted strings, comments, brackets, signs, blanks and words. A string
 * or comment that is not closed is the rest of the line. Each character is looked at once.
 */
export class Tokens {
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
