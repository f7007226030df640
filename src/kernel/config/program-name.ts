import { existsSync, realpathSync } from 'node:fs'
import { basename, delimiter, join, posix, win32 } from 'node:path'

/** What decides how a user starts this program. All of it can be given, so that every installation is tested on one computer. */
interface Installation {
  readonly mainFile: string
  readonly home: string
  /** The folder of the terminal that the program was started in. */
  readonly cwd?: string
  readonly path?: string
  readonly os?: NodeJS.Platform
}

/** A download of npx, or the copy of one in the data folder: see `lastingProgram`. */
const OF_NPX = /[\\/](?:_npx|app[\\/]\d[^\\/]*[\\/]node_modules[\\/]toolroom)[\\/]/

/**
 * The beginning of a command line that works on this computer: `toolroom` if that is a command here, `npx toolroom` for a
 * program that npx has downloaded, otherwise `node` with the file.
 */
export function programName({
  mainFile,
  home,
  cwd = process.cwd(),
  path = process.env.PATH ?? '',
  os = process.platform,
}: Installation): string {
  const { dirname, relative } = os === 'win32' ? win32 : posix
  if (OF_NPX.test(mainFile)) return 'npx toolroom'
  if (isCommand(mainFile, path, os)) return 'toolroom'
  if (cwd === dirname(dirname(mainFile))) return `node ${relative(cwd, mainFile)}`
  const below = relative(home, mainFile)
  const isShort = os !== 'win32' && /^(?!\.\.)[\w./-]+$/.test(below)
  return isShort ? `node ~/${below}` : `node "${mainFile}"`
}

/** A folder that npm puts in front of PATH for what it starts. The user's terminal does not have it. */
const OF_NPM = /[\\/]node_modules[\\/]\.bin$/

/**
 * Whether the first `toolroom` of PATH is this program. npm links it, or on Windows writes a script beside its folder. Other
 * package managers write a script or a program, which is believed.
 */
function isCommand(mainFile: string, path: string, os: NodeJS.Platform): boolean {
  const [name, target] =
    os === 'win32' ? ['toolroom.cmd', 'node_modules/toolroom/dist/main.js'] : ['toolroom', 'toolroom']
  const folder = path
    .split(delimiter)
    .find((each) => each !== '' && !OF_NPM.test(each) && existsSync(join(each, name)))
  if (folder === undefined) return false
  const link = join(folder, target)
  const file = existsSync(link) ? realpathSync(link) : ''
  return basename(file) !== basename(mainFile) || file === realpathSync(mainFile)
}

/** Texts name commands as `toolroom why github`. Here they begin as they do on this computer, also if it is done twice. */
export function asTyped(text: string, program: () => string, commands: readonly string[]): string {
  if (!text.includes('toolroom ')) return text
  const ours = new RegExp(
    `(?<![\\w./@-])(?<!npx )toolroom(?= (?:${commands.join('|')}|--help)(?![\\w-]))`,
    'g',
  )
  return text.replace(ours, program)
}
