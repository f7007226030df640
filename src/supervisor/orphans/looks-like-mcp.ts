import { posix } from 'node:path'
import { LAUNCHERS, type Launcher, SHELLS } from './launchers.ts'

/**
 * Whether a command line starts an MCP server. Names tell: of the program, of the script, module or package that a
 * launcher starts, of an image. Other arguments do not count: an editor may open anything.
 */
export function looksLikeMcp(argv: readonly string[]): boolean {
  const names = namesIn(argv)
  return names.some((name) => WORD.test(name) || CAMEL.test(name)) && !names.includes('toolroom')
}

const WORD = /(?<![a-z0-9])(?:fast)?mcp(?:servers?)?(?![a-z0-9])|modelcontextprotocol/i
const CAMEL = /(?<=[a-z])M(?:cp|CP)(?![a-z])|(?<![A-Za-z])M(?:cp|CP)(?=[A-Z][a-z])/
const MAX_ARGS = 64

function namesIn(argv: readonly string[]): string[] {
  const [path = '', ...args] = argv.slice(0, MAX_ARGS)
  const program = programOf(path)
  if (SHELLS.includes(program)) return namesInShell(args)
  return [posix.basename(path), ...namesBehind(program, args)]
}

/** `/usr/bin/python3.12` is `python`, `…/npx-cli.js` is `npx`. */
function programOf(path: string): string {
  const name = posix.basename(path).replace(/\.(?:exe|[cm]?js)$/, '')
  return name.replace(/-cli$/, '').replace(/^(python|pypy)[\d.]+$/, '$1')
}

function namesInShell(args: readonly string[]): string[] {
  const text = args.findIndex((arg) => /^-[a-z]*c$/.test(arg))
  const script = args.findIndex((arg) => !arg.startsWith('-'))
  if (text < 0 || script < text) return script < 0 ? [] : namesInPath(args[script] ?? '')
  const commands = (args[text + 1] ?? '').split(/&&|\|\||[;|\n]/)
  return commands.flatMap((command) => {
    const words = command.replaceAll(/["']/g, '').trim().split(/\s+/)
    const start = words.findIndex((word) => word !== 'exec' && !/^\w+=/.test(word))
    return start < 0 ? [] : namesIn(words.slice(start))
  })
}

function namesBehind(program: string, args: readonly string[]): string[] {
  const launcher = LAUNCHERS.get(program)
  if (!launcher) return []
  const told: string[] = []
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? ''
    const [flag = '', attached] = arg.split(/=(.*)/s)
    if (has(launcher.text, flag)) return told
    if (has(launcher.starts, flag)) return [...told, ...namesStarted(args.slice(at + 1))]
    if (has(launcher.tells, flag)) told.push(...namesInPath(attached ?? args[at + 1] ?? ''))
    if (!arg.startsWith('-')) return namesOfTarget(program, launcher, told, args.slice(at))
    if (attached === undefined && takesValue(launcher, flag)) at += 1
  }
  return told
}

const has = (flags: string | undefined, flag: string): boolean => flags?.split(' ').includes(flag) ?? false

function takesValue({ valued, tells, bare }: Launcher, flag: string): boolean {
  return has(valued, flag) || has(tells, flag) || (bare !== undefined && !has(bare, flag))
}

function namesOfTarget(program: string, launcher: Launcher, told: string[], args: readonly string[]) {
  const withVerb = `${program} ${args[0]}`
  if (LAUNCHERS.has(withVerb)) return [...told, ...namesBehind(withVerb, args.slice(1))]
  if (launcher.verbOnly) return args[0] === 'mcp' ? ['mcp'] : []
  return [...told, ...namesStarted(args)]
}

/** What is started may be a launcher itself (`npx tsx …`), or have MCP as one of its trades (`firebase mcp`). */
function namesStarted([target = '', ...args]: readonly string[]): string[] {
  const trade = /^(?:\w+:)?mcp(?:-server)?$/.test(args[0] ?? '') ? ['mcp'] : []
  return [...namesInPath(target), ...trade, ...namesIn([target, ...args])]
}

const LIBRARIES = ['node_modules', 'site-packages', 'dist-packages', '.venv', 'venv']
const NEAREST = 4
const MAX_PATH = 4096

/**
 * The file and the folders next to it, since `index.js` says nothing. A tool that is installed in a project is not the
 * project, so what is behind `node_modules` counts alone; and a person may be called anything.
 */
function namesInPath(path: string): string[] {
  const steps = posix.normalize(path.replace(/^file:\/\//, '').slice(-MAX_PATH)).split('/')
  const home = ['home', 'Users'].includes(steps[1] ?? '') && steps[0] === '' ? 3 : 0
  const library = Math.max(...LIBRARIES.map((name) => steps.lastIndexOf(name)))
  return library < 0 ? steps.slice(home).slice(-NEAREST) : steps.slice(library + 1)
}
