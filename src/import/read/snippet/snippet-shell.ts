import { Fault, refusal } from './snippet-error.ts'

export interface Word {
  readonly text: string
  /** True if any part was in quotes, so that it is not an operator. */
  readonly quoted: boolean
}

interface Command {
  readonly words: readonly Word[]
  /** The offset after the command: a line break, or the end. */
  readonly end: number
}

/** Unquoted shell operators. Programs are started without a shell. */
const OPERATOR = /^(?:&&?|\|\|?|;|<|\d?>{1,2}.*)$/
/** A backslash escapes these characters. Before others it is part of a Windows path. */
const ESCAPABLE = /[\s"'\\$`&|;<>(){}*?!#~]/

/** Splits one command like a shell, without expansion. Throws a Fault. */
export function readCommand(text: string, at: number): Command {
  const words: Word[] = []
  let word: string | undefined
  let quoted = false
  const finish = () => {
    if (word !== undefined) words.push({ text: word, quoted })
    word = undefined
    quoted = false
  }
  let index = at
  for (; index < text.length; index += 1) {
    const sign = text.charAt(index)
    const next = text.charAt(index + 1)
    if (next === '\n' && (sign === '\\' || sign === '`' || sign === '^')) {
      finish() // the continuation characters of sh, PowerShell and cmd
      index += 1
    } else if (sign === '\n') {
      break
    } else if (/\s/.test(sign)) {
      finish()
    } else if (sign === '#' && word === undefined) {
      index = lineEnd(text, index) - 1
    } else if (sign === "'" || sign === '"') {
      const closed = closingQuote(text, index)
      if (closed === -1) throw new Fault('The command in the snippet', index, 'a quote is not closed')
      const inner = text.slice(index + 1, closed)
      word = (word ?? '') + (sign === "'" ? inner : inner.replace(/\\(["\\$`])|\\\n/g, '$1'))
      quoted = true
      index = closed
    } else if (sign === '\\' && ESCAPABLE.test(next)) {
      word = (word ?? '') + next
      index += 1
    } else {
      word = (word ?? '') + sign
    }
  }
  finish()
  return { words, end: Math.min(index, text.length) }
}

/** Only quoted JSON spans several lines. Any other quote that is not closed in its line is an apostrophe. */
function closingQuote(text: string, at: number): number {
  const quote = text.charAt(at)
  const isJson = /^\s*[{[]/.test(text.slice(at + 1, at + 100))
  for (let index = at + 1; index < text.length; index += 1) {
    const sign = text.charAt(index)
    if (sign === quote) return index
    if (sign === '\n' && !isJson) return -1
    if (sign === '\\' && quote === '"') index += 1
  }
  return -1
}

export function lineEnd(text: string, at: number): number {
  const found = text.indexOf('\n', at)
  return found === -1 ? text.length : found
}

export const NEEDS_SHELL =
  'It uses shell operators such as && or |; keep only the command that starts the server'

export function needsShell(words: readonly Word[]): boolean {
  return words.some(({ text, quoted }) => !quoted && OPERATOR.test(text))
}

/** The words as arguments. Throws an AppError if they need a shell. */
export function asArguments(words: readonly Word[]): string[] {
  if (needsShell(words)) throw refusal(NEEDS_SHELL)
  return words.map(({ text }) => text)
}

const WINDOWS_PROGRAM = /^[A-Za-z]:[\\/][^"]*?\.(?:exe|cmd|bat)(?=\s)/i
const ABSOLUTE = /^(?:[A-Za-z]:[\\/]|\\\\|\/|~\/)/
const INTERPRETER = /(?:^|[\\/])(?:node|npx|bunx?|deno|uvx?|python[\d.]*|docker|java)(?:\.exe|\.cmd)?$/i

/** The words of `"command": "npx -y package"`. A program path with spaces is not split. */
export function commandWords(command: string): string[] {
  if (!/\s/.test(command)) return [command]
  const program = WINDOWS_PROGRAM.exec(command)?.[0]
  if (program !== undefined) return [program, ...argumentWords(command.slice(program.length))]
  const words = wordsOf(command)
  return words === undefined || isPathWithSpaces(words) ? [command] : asArguments(words)
}

/** The words of `"args": "-y package"`. */
export function argumentWords(args: string): string[] {
  const words = wordsOf(args)
  if (words === undefined)
    throw refusal('Its arguments have a quote that is not closed; write args as ["first", "second"]')
  return asArguments(words)
}

/** Undefined if a quote is not closed, because it may be an apostrophe in a name. */
function wordsOf(text: string): readonly Word[] | undefined {
  try {
    return readCommand(text.replace(/\s/g, ' '), 0).words
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault
    return undefined
  }
}

function isPathWithSpaces([first, ...rest]: readonly Word[]): boolean {
  if (first === undefined || first.quoted || !ABSOLUTE.test(first.text)) return false
  if (INTERPRETER.test(first.text)) return false
  const pathPart = rest.findIndex(({ text }) => /[\\/]/.test(text) || /\.(?:exe|cmd|bat)$/i.test(text))
  const argument = rest.findIndex(({ text, quoted }) => quoted || /^[-.]/.test(text) || ABSOLUTE.test(text))
  return pathPart !== -1 && argument === -1
}
