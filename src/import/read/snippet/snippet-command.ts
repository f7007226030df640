import { AppError } from '../../../kernel/errors.ts'
import { readAdd } from './snippet-add.ts'
import type { Named } from './snippet-find.ts'
import { fromJson } from './snippet-link.ts'
import { asArguments, type Word } from './snippet-shell.ts'

const PROMPT = String.raw`(?:(?:\$|>|%|PS [^>\n]{0,200}>)[ \t]+)?`
const ASSIGNED = String.raw`(?:[A-Za-z_]\w*=(?:"[^"\n]*"|'[^'\n]*'|[^\s"']*)[ \t]+)*`
const SCRIPT = String.raw`[^\n]*(?:[\\/]|\.[cm]?[jt]s\b|\.py\b|\.jar\b|\.dll\b|-m[ \t])`
/** Commands that start a server. Other commands of these programs install, build or pull. */
const LAUNCH = [
  String.raw`(?:npx|pnpx|bunx|uvx|dnx)[ \t]+(?!(?:--version|--help)\b)`,
  String.raw`(?:npm[ \t]+(?:exec|x)|(?:pnpm|yarn)[ \t]+dlx|bun[ \t]+(?:x|run)|pipx[ \t]+run|(?:deno|go)[ \t]+run)[ \t]`,
  String.raw`uv[ \t]+(?:--[\w-]+[ \t]+\S+[ \t]+){0,4}(?:run|tool[ \t]+run)[ \t]`,
  String.raw`(?:docker|podman)[ \t]+(?:(?:container[ \t]+)?(?:run|exec)|mcp[ \t]+gateway[ \t]+run)\b`,
  String.raw`(?:python[\d.]*|py)[ \t]+(?!-m[ \t]+(?:pip|venv|build|http\.server)\b)(?=${SCRIPT})`,
  String.raw`(?:node|java|dotnet|bun)[ \t]+(?=${SCRIPT})`,
  String.raw`cmd(?:\.exe)?[ \t]+\/[cC][ \t]`,
]
const ADD = String.raw`(?:claude|codex|gemini|qwen|copilot|amp|droid|grok|kimi)[ \t]+mcp[ \t]+add(?:-json)?[ \t]`
const EDITOR = String.raw`(?:code|code-insiders|codium|cursor|windsurf)[ \t]+--add-mcp[ \t=]`

const START = new RegExp(
  `[ \\t]*${PROMPT}(?:(?:env[ \\t]+)?${ASSIGNED}(?:${LAUNCH.join('|')})|${ADD}|${EDITOR})`,
  'y',
)
const PROMPT_WORD = /^(?:\$|>|%)$/
const ASSIGNMENT = /^([A-Za-z_]\w*)=(.*)$/s
/** Programs that add a server to an agent's file, or inspect one. */
const HELPERS =
  /^(?:@modelcontextprotocol\/inspector|@smithery\/cli|add-mcp|install-mcp|mcp-add|mcpm|@mcpmarket\/[\w-]+)(?:@.*)?$/

/** True if a command that starts or adds a server begins at this offset. */
export function startsCommand(text: string, at: number): boolean {
  START.lastIndex = at
  return START.test(text)
}

/** The server that a command line starts or adds. */
export function serversIn(words: readonly Word[]): Named[] {
  try {
    return read(withoutPrompt(words))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [{ name: undefined, value: undefined, refuse: error.message }]
  }
}

function withoutPrompt(words: readonly Word[]): readonly Word[] {
  if (words[0]?.text === 'PS') return words.slice(words.findIndex(({ text }) => text.endsWith('>')) + 1)
  return PROMPT_WORD.test(words[0]?.text ?? '') ? words.slice(1) : words
}

function read(words: readonly Word[]): Named[] {
  if (words[1]?.text === 'mcp' && words[2]?.text.startsWith('add')) return readAdd(words)
  if (words[1]?.text.startsWith('--add-mcp')) return readEditor(words)
  return readLaunch(words)
}

/** `code --add-mcp '{"name": "x", "command": …}'` */
function readEditor(words: readonly Word[]): Named[] {
  const refuse = 'Cannot parse the JSON after --add-mcp; check its quotes'
  return words.flatMap(({ text }, index) => {
    if (text === '--add-mcp') return fromJson(undefined, words[index + 1]?.text ?? '', refuse)
    return text.startsWith('--add-mcp=') ? fromJson(undefined, text.slice('--add-mcp='.length), refuse) : []
  })
}

/** `KEY=value npx -y package` */
function readLaunch(words: readonly Word[]): Named[] {
  const all = asArguments(words)
  const rest = all[0] === 'env' ? all.slice(1) : all
  const first = rest.findIndex((word) => !ASSIGNMENT.test(word))
  const pairs = rest.slice(0, first).map((word) => ASSIGNMENT.exec(word)?.slice(1, 3) as [string, string])
  const [command, ...args] = rest.slice(first)
  const target = args.find((arg) => !arg.startsWith('-')) ?? ''
  if (HELPERS.test(target) && !args.includes('run')) {
    const refuse =
      "This command installs or inspects a server but does not start one; paste the server's configuration"
    return [{ name: undefined, value: undefined, refuse }]
  }
  return [{ name: undefined, value: { command, args, env: Object.fromEntries(pairs) } }]
}
