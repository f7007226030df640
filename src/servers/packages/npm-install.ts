import { join } from 'node:path'
import { AppError } from '../../kernel/errors.ts'
import { explainNpm, PROBLEM, UNPACKED_IN_PART } from './npm-failure.ts'
import { checksSources, type Npm, type NpmVersions } from './npm-version.ts'

const INSTALL_MS = 10 * 60_000
const MAX_PROBLEMS = 200

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
