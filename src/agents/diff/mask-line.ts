import { MASK } from '../../kernel/secrets/secrets.ts'

/** Strings that may be shown, each with its masked form. All other strings are hidden. */
export type VisibleText = ReadonlyMap<string, string>

/** A quoted string, a comment, a bracket or sign, or a word. What follows a token decides whether it is a key. */
const TOKEN =
  /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.|'')*'|\/\/.*|\/\*.*?(?:\*\/|$)|#.*|[{}[\],]|[:=](?=\s|$|["'{[])|\s+|(?:(?!\/\/)[^\s{}[\],"'#:=]|[:=](?!\s|$))+|./g
const PLAIN = /^(?:true|false|null|~|-|---|[+-]?\d[\d_.eE+-]*|[{}[\],:=])$/
const HEADER = /^\s*\[\[?[^\]]*\]\]?/

/**
 * A line of an agent's file without its secrets. Keys, brackets and numbers stay, and so do strings that are known to
 * be harmless. Everything else (comments, parts of multi-line strings) is hidden, because it may contain a secret.
 */
export function maskLine(line: string, visible: VisibleText): string {
  const header = HEADER.exec(line)?.[0] ?? ''
  const isHeader = header !== '' && /^\s*(?:#.*)?$/.test(line.slice(header.length))
  if (isHeader) return header
  const tokens = line.match(TOKEN) ?? []
  let out = ''
  for (const [index, token] of tokens.entries()) {
    if (/^\s+$/.test(token) || PLAIN.test(token)) out += token
    else if (/^(?:\/\/|\/\*|#)/.test(token)) out += `${token.startsWith('#') ? '#' : '//'} ${MASK}`
    else if (isKey(tokens, index)) out += token
    else out += masked(token, visible)
  }
  return out.replace(REPEATED, MASK)
}
const REPEATED = /\*\*\*(?:\s+\*\*\*)+/g

/** A key is followed by `:` or `=`. */
function isKey(tokens: readonly string[], index: number): boolean {
  const next = tokens.slice(index + 1).find((token) => !/^\s+$/.test(token))
  return next === ':' || next === '='
}

function masked(token: string, visible: VisibleText): string {
  const quote = /^["']/.exec(token)?.[0] ?? ''
  const text = quote === '' ? token : unquoted(token, quote)
  const shown = visible.get(text)
  if (shown === undefined) return `${quote}${MASK}${quote}`
  return shown === text ? token : `${quote}${shown}${quote}`
}

function unquoted(token: string, quote: string): string {
  if (quote === "'") return token.slice(1, -1).replaceAll("''", "'")
  try {
    return String(JSON.parse(token))
  } catch {
    return token.slice(1, -1) // an escape that JSON does not have
  }
}
