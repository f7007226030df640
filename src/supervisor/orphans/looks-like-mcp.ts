import { posix } from 'node:path'
import { LAUNCHERS, type Launcher, SHELLS } from './launchers.ts'

/**
 * True if a command line starts an MCP server, judged by the name of the program, or of the script, module, package or
 * image that a launcher starts. Other arguments do not count: an editor may open any file.
 */
export function looksLikeMcp(argv: readonly string[]): boolean {
  const names = namesIn(WINDOWS_PROGRAM.test(argv[0] ?? '') ? argv.slice(0, MAX_ARGS).map(asPosix) : argv)
  return names.some((name) => WORD.test(name) || CAMEL.test(name)) && !names.includes('toolroom')
}

const WORD = /(?<![a-z0-9])(?:fast)?mcp(?:servers?)?(?![a-z0-9])|modelcontextprotocol/i
const CAMEL = /(?<=[a-z])M(?:cp|CP)(?![a-z])|(?<![A-Za-z])M(?:cp|CP)(?=[A-Z][a-z])/
const MAX_ARGS = 64
const WINDOWS_PROGRAM = /^[a-z]:\\|\.(?:exe|com|cmd|bat)$/i

/** `C:\Users\anna\mcp.js` becomes `/Users/anna/mcp.js`. */
const asPosix = (arg: string): string => arg.replaceAll('\\', '/').replace(/^[a-z]:(?=\/)/i, '')

function namesIn(argv: readonly string[]): string[] {
  const [path = '', ...args] = argv.slice(0, MAX_ARGS)
  const program = programOf(path)
  if (SHELLS.includes(program)) return namesInShell(args)
  if (program === 'cmd') return namesInCmd(args)
  return [posix.basename(path), ...namesBehind(program, args)]
}

/** `/usr/bin/python3.12` becomes `python`, `…/npx-cli.js` and `npx.cmd` become `npx`. */
function programOf(path: string): string {
  const name = posix.basename(path).replace(/\.(?:exe|cmd|[cm]?js)$/i, '')
  return name.replace(/-cli$/, '').replace(/^(python|pypy)[\d.]+$/, '$1')
}

function namesInShell(args: readonly string[]): string[] {
  const text = args.findIndex((arg) => /^-[a-z]*c$/.test(arg))
  const script = args.findIndex((arg) => !arg.startsWith('-'))
  if (text < 0 || script < text) return script < 0 ? [] : namesInPath(args[script] ?? '')
  return namesInCommands((args[text + 1] ?? '').split(/&&|\|\||[;|\n]/))
}

/** cmd.exe: everything behind `/c` is one text. */
function namesInCmd(args: readonly string[]): string[] {
  const text = args.findIndex((arg) => /^\/[ck]$/i.test(arg))
  return text < 0
    ? []
    : namesInCommands(
        args
          .slice(text + 1)
          .join(' ')
          .split(/[&|]/),
      )
}

function namesInCommands(commands: readonly string[]): string[] {
  return commands.flatMap((command) => {
    const words = command.replaceAll(/["']/g, '').trim().split(/\s+/)
    const start = words.findIndex((word) => word !== 'exec' && !/^\w+=/.test(word))
    return start < 0 ? [] : namesIn(words.slice(start))
  })
}

function namesBehind(program: string, args: readonly string[]): string[] {
  const launcher = LAUNCHERS.get(program)
  if (!launcher) return []
  const names: string[] = []
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? ''
    const [flag = '', attached] = arg.split(/=(.*)/s)
    if (has(launcher.text, flag)) return names
    if (has(launcher.starts, flag)) return [...names, ...namesStarted(args.slice(at + 1))]
    if (has(launcher.names, flag)) names.push(...namesInPath(attached ?? args[at + 1] ?? ''))
    if (!arg.startsWith('-')) return namesOfTarget(program, launcher, names, args.slice(at))
    if (attached === undefined && takesValue(launcher, flag)) at += 1
  }
  return names
}

const has = (flags: string | undefined, flag: string): boolean => flags?.split(' ').includes(flag) ?? false

function takesValue({ valued, names, bare }: Launcher, flag: string): boolean {
  return has(valued, flag) || has(names, flag) || (bare !== undefined && !has(bare, flag))
}

function namesOfTarget(program: string, launcher: Launcher, names: string[], args: readonly string[]) {
  const withVerb = `${program} ${args[0]}`
  if (LAUNCHERS.has(withVerb)) return [...names, ...namesBehind(withVerb, args.slice(1))]
  if (launcher.verbOnly) return args[0] === 'mcp' ? ['mcp'] : []
  return [...names, ...namesStarted(args)]
}

/** The program may be a launcher itself (`npx tsx …`), or have an MCP subcommand (`firebase mcp`). */
function namesStarted([target = '', ...args]: readonly string[]): string[] {
  const subcommand = /^(?:\w+:)?mcp(?:-server)?$/.test(args[0] ?? '') ? ['mcp'] : []
  return [...namesInPath(target), ...subcommand, ...namesIn([target, ...args])]
}

const LIBRARIES = ['node_modules', 'site-packages', 'dist-packages', '.venv', 'venv']
const NEAREST = 4
const MAX_PATH = 4096

/**
 * The file and its nearest folders, because `index.js` is not a telling name. Only what follows `node_modules` counts: an
 * installed tool is not the project. The home folder does not count: it is the name of a user.
 */
function namesInPath(path: string): string[] {
  const steps = posix.normalize(path.replace(/^file:\/\//, '').slice(-MAX_PATH)).split('/')
  const home = ['home', 'Users'].includes(steps[1] ?? '') && steps[0] === '' ? 3 : 0
  const library = Math.max(...LIBRARIES.map((name) => steps.lastIndexOf(name)))
  return library < 0 ? steps.slice(home).slice(-NEAREST) : steps.slice(library + 1)
}
