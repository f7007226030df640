import { gte, valid } from 'semver'
import { AppError } from '../../kernel/errors.ts'
import { objectOf } from './foreign-json.ts'

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
