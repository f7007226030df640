import type { AppError } from '../../../kernel/errors.ts'
import { serversIn, startsCommand } from './snippet-command.ts'
import { Fault, lineOf, positionOf, snippetError } from './snippet-error.ts'
import { findServers, HTTP_URL, type Named, readLink } from './snippet-find-servers.ts'
import { readJson, readToml, repair } from './snippet-json-toml.ts'
import { lineEnd, readCommand } from './snippet-shell.ts'

const MAX_TEXT = 1024 * 1024
/** The line of each failure is reported, which requires a pass over the text. */
const MAX_FAILURES = 20

interface Block {
  readonly start: number
  readonly end: number
  /** The word after the opening fence: json, toml, bash. */
  readonly language: string
}

interface Failure {
  /** The first line of the block. */
  readonly line: number
  readonly error: AppError
}

/** All servers in a text, block by block. A block that cannot be parsed does not affect the others. */
export function readText(pasted: string): { found: Named[]; failed: Failure[] } {
  if (pasted.length > MAX_TEXT) {
    throw snippetError('The snippet is longer than one megabyte', 'Paste only the part with the servers')
  }
  const text = pasted
    .replace(/^\ufeff/, '')
    .replace(/\r\n?/g, '\n')
    .replace(/^\s*`([^`\n]+)`\s*$/, '$1')
  const found: Named[] = []
  const failed: Failure[] = []
  for (const block of blocksIn(text)) {
    try {
      for (const named of readBlock(text.slice(block.start, block.end), block.language)) found.push(named)
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault
      failed.push({ line: lineOf(text, block.start), error: errorOf(text, block.start, fault) })
      if (failed.length === MAX_FAILURES) break
    }
  }
  return { found, failed }
}

function errorOf(text: string, start: number, { what, message, offset }: Fault): AppError {
  const sentence = `${what} cannot be parsed at ${positionOf(text, start + offset)}: ${message}`
  return snippetError(sentence, 'Check the quotes, commas and brackets at that position')
}

const FENCE = /^[ \t]*(?:>[ \t]?)*(`{3,}|~{3,})[ \t]*([\w+-]*)[^\n]*$/gm
const LANGUAGES =
  /^(?:|jsonc?|json5|js|javascript|toml|ini|sh|bash|zsh|shell|console|terminal|powershell|pwsh|ps1|cmd|bat|te?xt|plaintext)$/i

/** The fenced blocks in a supported language, or the whole text if there is no fence. */
function blocksIn(text: string): Block[] {
  const blocks: Block[] = []
  let open: { fence: string; start: number; language: string } | undefined
  let any = false
  for (const match of text.matchAll(FENCE)) {
    const [line, fence = '', language = ''] = match
    any = true
    if (open === undefined) {
      open = { fence, start: match.index + line.length + 1, language }
    } else if (fence.startsWith(open.fence) && language === '') {
      blocks.push({ start: open.start, end: match.index, language: open.language })
      open = undefined
    }
  }
  if (open !== undefined) blocks.push({ start: open.start, end: text.length, language: open.language })
  if (!any) return [{ start: 0, end: text.length, language: '' }]
  return blocks.filter(({ start, end, language }) => start < end && LANGUAGES.test(language))
}

const JSON_START = /[ \t]*(?:\{|["“”„‟][^"“”„‟\n]{0,200}["“”„‟][ \t]*:|\[(?=\s*[{[]))/y
const TOML_START =
  /[ \t]*(?:\[{1,2}[ \t]*["']?(?:mcp|mcp_servers|mcpServers)["']?[ \t]*[.\]]|mcp_servers[ \t]*[.=])/y
const TOML_PAIR = /[ \t]*[\w.-]+[ \t]+=[ \t]*["'[{\dtf]/y
const BLANK = /[ \t]*(?:#|\/\/|$)/my

/** Goes through the lines. If a line starts JSON, TOML or a command, that part is parsed as a whole. */
function* readBlock(block: string, language: string): Generator<Named> {
  if (language.toLowerCase() === 'toml') {
    yield* findServers(readToml(block, 0))
    return
  }
  let text = block
  let count = 0
  let isFirst = true
  let unread: Fault | undefined
  for (let at = 0; at < text.length; at = lineEnd(text, at) + 1) {
    let servers: Named[]
    const line = at
    if (begins(TOML_START, text, at) || (isFirst && begins(TOML_PAIR, text, at))) {
      servers = findServers(readToml(text, at))
      at = text.length
    } else if (begins(JSON_START, text, at)) {
      const json = readRepaired(text, at)
      servers = findServers(json.value)
      text = json.text
      at = Math.max(at, json.end)
    } else if (unread === undefined && startsCommand(text, at)) {
      const command = readCommandOrFault(text, at)
      if (command instanceof Fault) unread = command
      servers = command instanceof Fault ? [] : serversIn(command.words)
      at = command instanceof Fault ? at : command.end
    } else {
      servers = addressIn(text.slice(at, lineEnd(text, at)).trim())
    }
    isFirst &&= begins(BLANK, text, line)
    count += servers.length
    yield* servers
  }
  if (unread !== undefined && (count === 0 || language !== '')) throw unread
  if (count === 0) yield* loneProgram(block.trim())
}

/** An open quote may be an apostrophe in prose, so the rest of the text is still parsed. */
function readCommandOrFault(text: string, at: number): ReturnType<typeof readCommand> | Fault {
  try {
    return readCommand(text, at)
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault
    return fault
  }
}

/** Replaces curly quotes only if the JSON cannot be parsed otherwise, and then in the whole block. */
function readRepaired(text: string, at: number): { value: unknown; end: number; text: string } {
  try {
    return { ...readJson(text, at), text }
  } catch (first) {
    const repaired = repair(text)
    if (!(first instanceof Fault) || repaired === text) throw first
    try {
      return { ...readJson(repaired, at), text: repaired }
    } catch {
      throw first // the first error refers to the original text
    }
  }
}

const PAGES = /^https:\/\/(?:www\.)?(?:github\.com|gitlab\.com|npmjs\.com|pypi\.org|hub\.docker\.com)(?:\/|$)/
const PAGE = 'This is the URL of a web page; paste the configuration from that page'

/** A line that contains only a URL or an install link. */
function addressIn(line: string): Named[] {
  const address = line.replace(/^<(.*)>$/, '$1')
  if (/\s/.test(address)) return []
  const linked = readLink(address)
  if (linked !== undefined || !HTTP_URL.test(address)) return linked ?? []
  return [{ name: undefined, value: { url: address }, ...(PAGES.test(address) ? { refuse: PAGE } : {}) }]
}

/** A text that is only a command such as `/usr/local/bin/my-server --stdio`. */
function loneProgram(line: string): Named[] {
  if (line.includes('\n') || !/^(?:~\/|\.{1,2}[\\/]|\/[^/\s]|[A-Za-z]:[\\/])/.test(line)) return []
  return serversIn(readCommand(line, 0).words)
}

function begins(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}
