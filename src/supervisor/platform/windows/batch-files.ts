import path from 'node:path'

/** Everything that cmd.exe may treat specially outside of quotes, and the quote itself, so that there are none. */
const SPECIAL = /[()[\]{}%!^"`'<>&|;,=+~ *?\t]/g

/** Why cmd.exe cannot pass on an argument: there is no way to escape these characters. */
export class UnsafeArgument extends Error {
  override readonly name = 'UnsafeArgument'
}

/**
 * The arguments of cmd.exe that run a batch file, to be passed verbatim. The first one is the batch file. cmd.exe reads
 * the line twice: here, where a caret protects each special character, and in the batch file, where `%*` stands for the
 * arguments, and their quotes protect them. A quote inside an argument is therefore doubled: behind `\"` the batch file
 * would read the rest of the argument as commands.
 */
export function batchLine([file = '', ...args]: readonly string[]): string[] {
  for (const each of [file, ...args]) {
    if (/[\0\r\n]/.test(each))
      throw new UnsafeArgument(
        'An argument contains a line break or a NUL character, which a batch file cannot receive',
      )
  }
  const escaped = args.map((arg) => quoted(arg).replace(SPECIAL, '^$&'))
  return ['/d', '/s', '/c', `"${[`"${file}"`, ...escaped].join(' ')}"`]
}

/** As the C runtime of Windows reads it: backslashes count only in front of a quote, and `""` is a quote. */
function quoted(arg: string): string {
  return `"${arg.replace(/(\\*)("|$)/g, (_, slashes: string, quote: string) => slashes + slashes + quote + quote)}"`
}

/** What a batch file written by npm starts. */
export interface Shim {
  /** The options of node in front of the script; undefined if the target is a program itself. */
  readonly nodeOptions: readonly string[] | undefined
  /** The script or the program. */
  readonly target: string
  /** The npm that a user has installed globally takes the place of the one beside node.exe. */
  readonly isNpm: boolean
}

/** Shims are shorter. */
export const MAX_SHIM_BYTES = 8192

/**
 * Reads the batch files of the Node installer (npm.cmd, npx.cmd) and those of cmd-shim, which npm writes for each program
 * of a package. Undefined if a line is not known: such a file may do anything else, so cmd.exe has to run it.
 */
export function readShim(file: string, text: string): Shim | undefined {
  let found: Shim | undefined
  for (const raw of text.split('\n')) {
    const line = raw.trim().replace(/^@/, '')
    if (line === '' || KNOWN.has(line.toLowerCase()) || NPM_LINES.some((known) => known.test(line))) continue
    const shim = launchOf(file, line)
    if (!shim || (found && found.target !== shim.target)) return undefined
    found = shim
  }
  return found
}

const KNOWN: ReadonlySet<string> = new Set([
  'echo off',
  'setlocal',
  'endlocal',
  'goto start',
  ':start',
  ':find_dp0',
  'call :find_dp0',
  'set dp0=%~dp0',
  'exit /b',
  'exit /b %errorlevel%',
  'if exist "%dp0%\\node.exe" (',
  'if exist "%~dp0\\node.exe" (',
  'set "_prog=%dp0%\\node.exe"',
  'set "_prog=node"',
  'set pathext=%pathext:;.js;=;%',
  ') else (',
  ')',
  ":: created by npm, please don't edit manually.",
  'set "node_exe=%~dp0\\node.exe"',
  'if not exist "%node_exe%" (',
  'set "node_exe=node"',
])

/** The lines in which npm.cmd and npx.cmd look for a global npm; three generations. */
const NPM_LINES: readonly RegExp[] = [
  /^set "(np[mx])_cli_js=%~dp0\\node_modules\\npm\\bin\\\1-cli\.js"$/i,
  /^set "npm_prefix_js=%~dp0\\node_modules\\npm\\bin\\npm-prefix\.js"$/i,
  /^for \/f "delims=" %%f in \('call "%node_exe%" (?:"%npm_cli_js%" prefix -g|"%npm_prefix_js%")'\) do \($/i,
  /^set "npm_prefix_(np[mx])_cli_js=%%f\\node_modules\\npm\\bin\\\1-cli\.js"$/i,
  /^if exist "%npm_prefix_np[mx]_cli_js%" \($/i,
  /^set "(np[mx])_cli_js=%npm_prefix_\1_cli_js%"$/i,
]

const NPM_LAUNCH = /^"%node_exe%" "%(np[mx])_cli_js%" %\*$/i
/** The target has no `%`, which cmd.exe would replace. */
const NODE_LAUNCH =
  /^(?:endlocal & goto #_undefined_# 2>nul \|\| title %comspec% & )?(?:"%_prog%"|"%~dp0\\node\.exe"|node) +((?:-[\w.:,/=-]+ +)*)"(?:%dp0%|%~dp0)\\([^"%]+)" +%\*$/i
const PROGRAM_LAUNCH = /^"(?:%dp0%|%~dp0)\\([^"%]+\.exe)" +%\*$/i

function launchOf(file: string, line: string): Shim | undefined {
  const folder = path.win32.dirname(file)
  const [, npm] = NPM_LAUNCH.exec(line) ?? []
  if (npm !== undefined) {
    const target = path.win32.join(folder, 'node_modules\\npm\\bin', `${npm.toLowerCase()}-cli.js`)
    return { nodeOptions: [], target, isNpm: true }
  }
  const [, options = '', script] = NODE_LAUNCH.exec(line) ?? []
  if (script !== undefined)
    return {
      nodeOptions: options.split(' ').filter(Boolean),
      target: path.win32.join(folder, script),
      isNpm: false,
    }
  const [, program] = PROGRAM_LAUNCH.exec(line) ?? []
  if (program === undefined) return undefined
  return { nodeOptions: undefined, target: path.win32.join(folder, program), isNpm: false }
}
