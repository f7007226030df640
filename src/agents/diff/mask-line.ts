import { MASK } from '../../kernel/secrets/secrets.ts'

/** Texts that may be seen, each with what is shown of it. Whatever is not here is hidden. */
export type Shown = ReadonlyMap<string, string>

/** A text in quotes, a comment, a bracket or sign, or a word; names of tables and keys are told by what follows them. */
const TOKEN =
  /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.|'')*'|\/\/.*|\/\*.*?(?:\*\/|$)|#.*|[{}[\],]|[:=](?=\s|$|["'{[])|\s+|(?:(?!\/\/)[^\s{}[\],"'#:=]|[:=](?!\s|$))+|./g
const PLAIN = /^(?:true|false|null|~|-|---|[+-]?\d[\d_.eE+-]*|[{}[\],:=])$/
const HEADER = /^\s*\[\[?[^\]]*\]\]?/

/**
 * A line of an agent's file as anybody may see it: names, brackets and numbers stay, and of the texts only those that
 * are known to be harmless. What a line holds beyond that (a comment, the inside of a long text) is hidden whole: this
 * is for finding one's way, and a secret can stand anywhere.
 */
export function maskLine(line: string, shown: Shown): string {
  const header = HEADER.exec(line)?.[0] ?? ''
  const isHeader = header !== '' && /^\s*(?:#.*)?$/.test(line.slice(header.length))
  if (isHeader) return header
  const tokens = line.match(TOKEN) ?? []
  let out = ''
  for (const [index, token] of tokens.entries()) {
    if (/^\s+$/.test(token) || PLAIN.test(token)) out += token
    else if (/^(?:\/\/|\/\*|#)/.test(token)) out += `${token.startsWith('#') ? '#' : '//'} ${MASK}`
    else if (isName(tokens, index)) out += token
    else out += visible(token, shown)
  }
  return out.replace(REPEATED, MASK)
}
const REPEATED = /\*\*\*(?:\s+\*\*\*)+/g

/** A name stands before `:` or `=`. */
function isName(tokens: readonly string[], index: number): boolean {
  const next = tokens.slice(index + 1).find((token) => !/^\s+$/.test(token))
  return next === ':' || next === '='
}

function visible(token: string, shown: Shown): string {
  const quote = /^["']/.exec(token)?.[0] ?? ''
  const text = quote === '' ? token : textOf(token, quote)
  const seen = shown.get(text)
  if (seen === undefined) return `${quote}${MASK}${quote}`
  return seen === text ? token : `${quote}${seen}${quote}`
}

function textOf(token: string, quote: string): string {
  if (quote === "'") return token.slice(1, -1).replaceAll("''", "'")
  try {
    return String(JSON.parse(token))
  } catch {
    return token.slice(1, -1) // an escape that only TOML or YAML knows
  }
}
