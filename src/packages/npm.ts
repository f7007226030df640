import { AppError, type ErrorCode } from '../kernel/errors.ts'

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

/**
 * The strictest options of npm: no scripts, no source but the registry, no prompts. Older versions of npm ignore flags
 * that they do not know, so the name is checked before.
 */
function installArgs(spec: string, allowScripts: boolean): string[] {
  return [
    'install',
    `--ignore-scripts=${!allowScripts}`,
    '--foreground-scripts',
    '--save-exact',
    '--package-lock=true',
    '--package-lock-only=false',
    '--omit=dev',
    '--global=false',
    '--workspaces=false',
    '--dry-run=false',
    '--audit=false',
    '--fund=false',
    '--progress=false',
    '--update-notifier=false',
    '--allow-git=none',
    '--allow-remote=none',
    '--allow-file=none',
    '--allow-directory=none',
    '--fetch-retries=1',
    '--fetch-timeout=60000',
    '--loglevel=http',
    '--color=false',
    '--',
    spec,
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

/** Runs `npm install`. Throws an AppError with the cause when it fails. */
export async function npmInstall(
  npm: Npm,
  what: { name: string; version: string; folder: string; allowScripts: boolean },
  how: { signal: AbortSignal; onLine: (text: string) => void },
): Promise<void> {
  const lines: string[] = []
  const { code, cut } = await npm({
    args: installArgs(`${what.name}@${what.version}`, what.allowScripts),
    cwd: what.folder,
    signal: how.signal,
    timeoutMs: INSTALL_MS,
    onLine: (_, text) => {
      lines.push(text)
      how.onLine(text)
    },
  })
  if (cut === 'late')
    throw new AppError('registry_timeout', `npm did not install '${what.name}' within 10 minutes`)
  if (code !== 0) throw explainNpm(what.name, lines)
}

/** From the last lines of npm: `npm error code X` and a sentence, or `npm ERR!` in older versions. */
export function explainNpm(name: string, lines: readonly string[]): AppError {
  const errors = lines.flatMap((line) => /^npm (?:error|ERR!) ?(.*)$/.exec(line)?.[1] ?? [])
  const code = errors.map((line) => /^code (\S+)/.exec(line)?.[1]).find((found) => found !== undefined) ?? ''
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
  [/^EBADPLATFORM$/, 'install_failed', "'%' does not support this operating system"],
  [/^E5\d\d$/, 'registry_failed', "The registry failed while installing '%'"],
]
