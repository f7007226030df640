import { AppError } from '../kernel/errors.ts'

export interface NpmRun {
  readonly args: readonly string[]
  readonly cwd?: string
  readonly signal?: AbortSignal
  readonly timeoutMs: number
  readonly onLine?: (stream: 'stdout' | 'stderr', text: string) => void
}

/** The user's own npm. `supervisor/` provides it. */
export type Npm = (
  run: NpmRun,
) => Promise<{ readonly code: number | null; readonly cut: 'late' | 'cancelled' | null }>

const INSTALL_MS = 10 * 60_000

/**
 * As careful as npm can be made: nothing runs, nothing comes from elsewhere than the registry, nothing is asked. Older
 * npm do not know every flag and pass over it, which is why the name was checked before.
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

/** What npm gets of our environment: all that is about npm, the network and the user, and nothing of ours. */
export function npmEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const kept = Object.entries(env).filter(([name, value]) => value !== undefined && !NOT_FOR_NPM.test(name))
  return Object.fromEntries(kept) as Record<string, string>
}
/** Ours, and what an npm that started us has left: it would take our own folder for its project. */
const NOT_FOR_NPM =
  /^(?:TOOLROOM_|AUTH_TOKEN|npm_package_|npm_lifecycle_|npm_command$|npm_execpath$|npm_node_execpath$|npm_config_(?:local_prefix|global_prefix|ignore_scripts|package_lock|dry_run|global|workspace|prefix)$|INIT_CWD$|NODE_OPTIONS$)/i

/** Runs npm to a good end, or says what went wrong in a sentence. */
export async function npmInstall(
  npm: Npm,
  what: { name: string; version: string; folder: string; allowScripts: boolean },
  how: { signal: AbortSignal; onLine: (text: string) => void },
): Promise<void> {
  const said: string[] = []
  const { code, cut } = await npm({
    args: installArgs(`${what.name}@${what.version}`, what.allowScripts),
    cwd: what.folder,
    signal: how.signal,
    timeoutMs: INSTALL_MS,
    onLine: (_, text) => {
      said.push(text)
      how.onLine(text)
    },
  })
  if (cut === 'late')
    throw new AppError('registry_timeout', `npm did not finish installing '${what.name}' in 10 minutes`)
  if (code !== 0) throw explainNpm(what.name, said)
}

/** npm ends with `npm error code X` and some sentences; older ones say `npm ERR!`. */
export function explainNpm(name: string, said: readonly string[]): AppError {
  const errors = said.flatMap((line) => /^npm (?:error|ERR!) ?(.*)$/.exec(line)?.[1] ?? [])
  const code = errors.map((line) => /^code (\S+)/.exec(line)?.[1]).find((found) => found !== undefined) ?? ''
  const words = errors.find(
    (line) => line !== '' && !/^(?:code|errno|syscall|path|A complete log)\b/.test(line),
  )
  const because = words ?? said.findLast((line) => line.trim() !== '') ?? 'npm said nothing'
  for (const [pattern, error] of CAUSES) if (pattern.test(code)) return error(name, because)
  return new AppError('install_failed', `npm could not install '${name}': ${because}`, {
    hint: 'The job holds all that npm wrote',
  })
}

type Cause = [RegExp, (name: string, because: string) => AppError]

const CAUSES: readonly Cause[] = [
  [
    /^(?:ENOSPC|EDQUOT)$/,
    (name) =>
      new AppError('disk_full', `The disk is full, so '${name}' was not installed`, {
        hint: 'Free some space on the disk that holds the data folder',
      }),
  ],
  [
    /^E404$/,
    (name, because) =>
      new AppError(
        'package_not_found',
        `The registry does not have '${name}' or something it needs: ${because}`,
      ),
  ],
  [
    /^(?:ETARGET|ENOVERSIONS)$/,
    (name, because) =>
      new AppError('package_not_found', `There is no such version for '${name}': ${because}`),
  ],
  [
    /^(?:E401|E403|ENEEDAUTH|EOTP)$/,
    (name, because) =>
      new AppError('registry_refused', `The registry refused to give '${name}': ${because}`, {
        hint: 'Log in with npm login, for the registry that your npm is set to',
      }),
  ],
  [
    /^(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|SELF_SIGNED_CERT_IN_CHAIN|CERT_.*|UNABLE_TO_.*)$/,
    (name, because) =>
      new AppError(
        'registry_unreachable',
        `The registry was not reached while installing '${name}': ${because}`,
        { hint: 'Look at your network, and at the registry and proxy that your npm is set to' },
      ),
  ],
  [
    /^(?:ETIMEDOUT|ERR_SOCKET_TIMEOUT|FETCH_ERROR)$/,
    (name, because) =>
      new AppError('registry_timeout', `The registry was silent while installing '${name}': ${because}`),
  ],
  [
    /^(?:EINTEGRITY|TAR_.*|Z_.*)$/,
    (name, because) =>
      new AppError('install_failed', `'${name}' came damaged, so it was not installed: ${because}`, {
        hint: 'Try again; if it stays so, the registry has a wrong file',
      }),
  ],
  [
    /^(?:EBADENGINE|ENOTSUP)$/,
    (name, because) => new AppError('node_too_old', `'${name}' does not run on this Node: ${because}`),
  ],
  [
    /^EBADPLATFORM$/,
    (name, because) =>
      new AppError('install_failed', `'${name}' is not made for this operating system: ${because}`),
  ],
  [
    /^E5\d\d$/,
    (name, because) =>
      new AppError('registry_failed', `The registry failed while installing '${name}': ${because}`),
  ],
]
