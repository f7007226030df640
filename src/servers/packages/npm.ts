import { join } from 'node:path'
import { gte, valid } from 'semver'
import { AppError, type ErrorCode } from '../../kernel/errors.ts'
import { objectOf } from './raw-json.ts'

export interface NpmRun {
  readonly args: readonly string[]
  readonly cwd?: string
  readonly signal?: AbortSignal
  readonly timeoutMs: number
  readonly onLine?: (stream: 'stdout' | 'stderr', text: string) => void
}

/** Runs the user's own npm. */
export type Npm = (
  run: NpmRun,
) => Promise<{ readonly code: number | null; readonly cut: 'late' | 'cancelled' | null }>

const INSTALL_MS = 10 * 60_000
/** npm needs 15 s for its version on a computer that has much else to do. */
const VERSION_MS = 2 * 60_000
/** The first version that enforces all `--allow-…` options. Older ones ignore them, or refuse tarballs of the registry. */
const CHECKS_SOURCES = '11.16.0'
/** Comes with Node 20. */
const OLDEST = '10.0.0'

export interface NpmVersions {
  readonly npm: string
  /** Of the Node that runs npm. It may be another one than ours. */
  readonly node: string
}

/** Reads the version of the user's npm. Throws for one that is too old. */
export async function npmVersions(run: Npm): Promise<NpmVersions> {
  const lines: string[] = []
  const onLine = (stream: 'stdout' | 'stderr', text: string) => void (stream === 'stdout' && lines.push(text))
  const { cut } = await run({
    args: ['version', '--json', '--workspaces=false'],
    timeoutMs: VERSION_MS,
    onLine,
  })
  if (cut === 'late')
    throw new AppError(
      'install_failed',
      "Packages cannot be installed: 'npm version' did not end in 2 minutes",
      {
        hint: "Run 'npm version' in a terminal to see what it waits for",
      },
    )
  const { npm, node } = objectOf(parsed(lines.join('\n')))
  const isKnown = typeof npm === 'string' && valid(npm) === npm && typeof node === 'string'
  if (isKnown && gte(npm, OLDEST)) return { npm, node }
  const found = isKnown ? `npm ${npm} is too old` : "'npm version' printed no version"
  throw new AppError('install_failed', `Packages cannot be installed: ${found}`, {
    hint: 'Install a newer npm: npm install --global npm@11',
  })
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined // the error names the command
  }
}

/** True when npm itself refuses dependencies from outside of the registry. */
export const checksSources = ({ npm }: NpmVersions): boolean => gte(npm, CHECKS_SOURCES)

/**
 * The strictest options of npm: no scripts, no source but the registry, no prompts. `git` is a path below a file, where
 * nothing can exist.
 */
function options({ folder, versions }: What, allowScripts: boolean): string[] {
  const sources = ['git', 'remote', 'file', 'directory'].map((source) => `--allow-${source}=none`)
  return [
    `--ignore-scripts=${!allowScripts}`,
    '--foreground-scripts',
    `--git=${join(folder, 'package.json', 'none')}`,
    '--package-lock=true',
    '--package-lock-only=false',
    '--lockfile-version=3',
    '--omit-lockfile-registry-resolved=false',
    '--omit=dev',
    '--global=false',
    '--workspaces=false',
    '--dry-run=false',
    '--audit=false',
    '--fund=false',
    '--progress=false',
    '--update-notifier=false',
    ...(checksSources(versions) ? sources : []),
    '--fetch-retries=1',
    '--fetch-timeout=60000',
    '--loglevel=http',
    '--color=false',
  ]
}

/** The environment for npm: everything but Toolroom's own variables and those of an npm that started Toolroom. */
export function npmEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const kept = Object.entries(env).filter(([name, value]) => value !== undefined && !NOT_FOR_NPM.test(name))
  return Object.fromEntries(kept) as Record<string, string>
}
/** With the variables of an outer npm, npm would take Toolroom's folder for its project. */
const NOT_FOR_NPM =
  /^(?:TOOLROOM_|AUTH_TOKEN|npm_package_|npm_lifecycle_|npm_command$|npm_execpath$|npm_node_execpath$|npm_config_(?:local_prefix|global_prefix|ignore_scripts|package_lock|dry_run|global|workspace|prefix)$|INIT_CWD$|NODE_OPTIONS$)/i

interface What {
  readonly name: string
  readonly folder: string
  readonly versions: NpmVersions
}
interface How {
  readonly signal: AbortSignal
  readonly onLine: (text: string) => void
}

/** Installs what package.json in the folder names, without scripts. Throws an AppError with the cause when it fails. */
export const npmInstall = (npm: Npm, what: What, how: How): Promise<void> =>
  runNpm(npm, what, ['install', ...options(what, false)], how)

/** Installs what the lock file in the folder names, with scripts. */
export const npmInstallWithScripts = (npm: Npm, what: What, how: How): Promise<void> =>
  runNpm(npm, what, ['ci', ...options(what, true)], how)

async function runNpm(
  npm: Npm,
  { name, folder }: What,
  args: string[],
  { signal, onLine }: How,
): Promise<void> {
  const problems: string[] = []
  let last = ''
  const { code, cut } = await npm({
    args,
    cwd: folder,
    signal,
    timeoutMs: INSTALL_MS,
    onLine: (_, text) => {
      if (PROBLEM.test(text) && problems.length < MAX_PROBLEMS) problems.push(text)
      else if (text.trim() !== '') last = text
      onLine(text)
    },
  })
  if (cut === 'late')
    throw new AppError('registry_timeout', `npm did not install '${name}' within 10 minutes`)
  const lines = [...problems, last]
  if (code !== 0 || lines.some((line) => UNPACKED_IN_PART.test(line))) throw explainNpm(name, lines)
}
/** What explains a failure. Everything else may be gigabytes: a script of a package prints what it likes. */
const PROBLEM = /^npm (?:error|ERR!|warn tar) /i
const MAX_PROBLEMS = 200
/** npm only warns about a file that it could not write, and reports success. */
const UNPACKED_IN_PART = /^npm warn tar TAR_ENTRY_ERROR (?:ENOSPC|EDQUOT)\b/i

/** From the last lines of npm: `npm error code X` and a sentence, or `npm ERR!` in older versions. */
export function explainNpm(name: string, lines: readonly string[]): AppError {
  const errors = lines.flatMap((line) => /^npm (?:error|ERR!) ?(.*)$/.exec(line)?.[1] ?? [])
  const named = errors.map((line) => /^code (\S+)/.exec(line)?.[1]).find((found) => found !== undefined)
  const code = lines.some((line) => UNPACKED_IN_PART.test(line)) ? 'ENOSPC' : (named ?? '')
  const sentence = errors.find(
    (line) => line !== '' && !/^(?:code|errno|syscall|path|A complete log)\b/.test(line),
  )
  const because = sentence ?? lines.findLast((line) => line.trim() !== '') ?? 'npm wrote no output'
  const cause = CAUSES.find(([pattern]) => pattern.test(code)) ?? OTHER
  const [, kind, message, hint] = cause
  return new AppError(kind, `${message.replace('%', name)}: ${because}`, hint === undefined ? {} : { hint })
}

/** By npm's error code; `%` is replaced by the name of the package. */
type Cause = readonly [code: RegExp, kind: ErrorCode, message: string, hint?: string]

const OTHER: Cause = [
  /^/,
  'install_failed',
  "npm could not install '%'",
  "The job's output contains everything that npm wrote",
]
// biome-ignore format: a table
const CAUSES: readonly Cause[] = [
  [/^(?:ENOSPC|EDQUOT)$/, 'disk_full', "The disk is full, so '%' was not installed", 'Free some space on the disk that holds the data folder'],
  [/^E404$/, 'package_not_found', "The registry does not have '%' or one of its dependencies"],
  [/^(?:ETARGET|ENOVERSIONS)$/, 'package_not_found', "The registry does not have this version of '%'"],
  [/^(?:E401|E403|ENEEDAUTH|EOTP)$/, 'registry_refused', "The registry refused to deliver '%'", "Sign in to the registry that npm uses with 'npm login'"],
  [/^(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|SELF_SIGNED_CERT_IN_CHAIN|CERT_.*|UNABLE_TO_.*)$/, 'registry_unreachable', "The registry could not be reached while installing '%'", "Check the network, and npm's registry and proxy settings"],
  [/^(?:ETIMEDOUT|ERR_SOCKET_TIMEOUT|FETCH_ERROR)$/, 'registry_timeout', "The registry did not respond while installing '%'"],
  [/^(?:EINTEGRITY|TAR_.*|Z_.*)$/, 'install_failed', "The download of '%' is damaged, so it was not installed", 'Try again; if it happens again, the file in the registry is damaged'],
  [/^(?:EBADENGINE|ENOTSUP)$/, 'node_too_old', "'%' does not run on this version of Node"],
  [/^EALLOW(?:GIT|REMOTE|FILE|DIRECTORY)$/, 'install_failed', "'%' was not installed: one of its dependencies is outside of the registry", 'Toolroom installs from the registry only. Install the package yourself and add a server by its command'],
  [/^EBADPLATFORM$/, 'install_failed', "'%' does not support this operating system"],
  [/^E5\d\d$/, 'registry_failed', "The registry failed while installing '%'"],
]
