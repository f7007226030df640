import { posix } from 'node:path'

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

/** A program that starts another one. Its flags are listed to tell their values from the program to start. */
interface Launcher {
  /** Flags with a value that is ignored. */
  readonly valued?: string
  /** Flags without a value. If set, all other flags have one. */
  readonly bare?: string
  /** Flags whose value names what is started, in addition to the first positional argument. */
  readonly names?: string
  /** Flags whose value is the program to start, instead of the first positional argument. */
  readonly starts?: string
  /** Flags whose value is source code, which has no name. */
  readonly text?: string
  /** Starts a program only with certain subcommands, such as `npm exec`. */
  readonly verbOnly?: boolean
}

const verbs: Launcher = {
  valued: '--prefix --registry --cache --loglevel -w --workspace -C --filter',
  verbOnly: true,
}
const js: Launcher = {
  valued:
    '-r --require --import --loader --experimental-loader -C --conditions --env-file --title -P --project --tsconfig',
  text: '-e --eval -p --print -pe',
}
const packages: Launcher = {
  valued: '--registry --cache --loglevel -w --workspace --prefix',
  names: '-p --package',
  text: '-c --call',
}
const python: Launcher = { valued: '-W -X', starts: '-m', text: '-c' }
const uv: Launcher = {
  valued:
    '-p --python -w --with --with-editable --with-requirements -i --index --index-url --default-index --extra-index-url --env-file --config-file --cache-dir --group --only-group --extra --package',
  names: '--from --directory --project',
  starts: '-m --module',
}
const container: Launcher = {
  bare: '-i -t -d -it -ti -P --interactive --tty --detach --rm --init --privileged --read-only --publish-all',
}

/** By program, or by program and subcommand. */
const LAUNCHERS: ReadonlyMap<string, Launcher> = new Map(
  Object.entries({
    node: js,
    nodejs: js,
    tsx: js,
    'ts-node': js,
    bun: js,
    'bun run': js,
    'bun x': packages,
    bunx: packages,
    deno: verbs,
    'deno run': { valued: '-c --config --import-map --lock --cert' },
    npx: packages,
    npm: verbs,
    'npm exec': packages,
    'npm x': packages,
    'npm run': packages,
    pnpm: verbs,
    'pnpm dlx': packages,
    'pnpm exec': packages,
    'pnpm run': packages,
    yarn: verbs,
    'yarn dlx': packages,
    'yarn run': packages,
    python,
    pypy: python,
    uv: { ...uv, verbOnly: true },
    'uv run': uv,
    'uv tool': { ...uv, verbOnly: true },
    'uv tool run': uv,
    'uv tool uvx': uv,
    uvx: uv,
    pipx: verbs,
    'pipx run': { valued: '--python --pip-args --index-url', names: '--spec' },
    poetry: verbs,
    'poetry run': {},
    java: { valued: '-cp -classpath --class-path', starts: '-jar' },
    dotnet: { names: '--project' },
    ruby: { valued: '-I -r', text: '-e' },
    php: { valued: '-d -c', text: '-r' },
    docker: { valued: '-H --host --context -c --config -l --log-level', verbOnly: true },
    'docker run': container,
    podman: verbs,
    'podman run': container,
  }),
)

const SHELLS = ['sh', 'bash', 'dash', 'zsh', 'ash', 'ksh']
