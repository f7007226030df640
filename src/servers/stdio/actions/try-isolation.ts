import { homedir } from 'node:os'
import { dirname } from 'node:path'
import type { KnownSecrets } from '../../../kernel/secrets/known-secrets.ts'
import { checkIsolation, isolationOver, shownOptions } from '../isolation.ts'
import type { Server } from '../servers.schema.ts'
import {
  type IsolationTrialInput,
  type IsolationTrialReport,
  MAX_LOST_FILES,
  type TrialReport,
} from './actions.schema.ts'
import {
  existingFolder,
  isGrantable,
  isInside,
  MAX_EVIDENCE,
  MAX_REFUSALS,
  type Outside,
  type Refusal,
  refusalsIn,
  widened,
} from './refusals.ts'
import type { Tried, Watch } from './trial.ts'

interface Deps {
  readonly tryOut: (tried: Tried, watch: Watch) => Promise<TrialReport>
  readonly secrets: Pick<KnownSecrets, 'redact'>
  /** Toolroom's own folders. */
  readonly own: readonly string[]
}

const MAX_TEXT = 2000
const MAX_READ = 65_536

/** Runs a server once with the given isolation, beside the running one, and reports what the isolation kept from it. */
export async function tryIsolation(
  server: Server,
  { calls: wanted = [], ...given }: IsolationTrialInput,
  { tryOut, secrets, own }: Deps,
): Promise<IsolationTrialReport> {
  const { isolation, isolation_options } = isolationOver(server, given)
  checkIsolation({ ...server, isolation, isolation_options })
  const calls: IsolationTrialReport['calls'] = []
  const texts: string[] = []
  let lost: Parameters<Watch['onLost']> = [[], 0]
  const report = await tryOut(
    { ...server, isolation, isolation_options },
    {
      use: async (call) => {
        for (const { tool, arguments: args = {} } of wanted) {
          const { ok, text } = await outcomeOf(call(tool, args))
          const shown = secrets.redact(text)
          texts.push(shown)
          calls.push({ tool, ok, text: shown.slice(0, MAX_TEXT) })
        }
      },
      onLost: (...found) => {
        lost = found
      },
    },
  )
  const [paths, lost_file_count] = lost
  const said = [...texts, ...report.stderr_tail, report.error?.message ?? '']
  const searchPath = server.env.PATH ?? process.env.PATH ?? ''
  const outside = { home: homedir(), own, cwd: server.cwd, searchPath }
  const clean = (text: string) => secrets.redact(text)
  const errors = isolation === 'none' ? [] : refusalsIn(said, isolation_options, outside)
  const refused = [...errors, ...refusalsOfLost(paths, errors, outside, clean)]
  const suggested_options = shownOptions(widened(isolation_options, refused, outside))
  return {
    ...report,
    isolation,
    calls,
    refused: refused.map((each) => ({ ...each })),
    lost_files: lostFilesShown(paths, outside, clean),
    lost_file_count,
    suggested_options,
  }
}

async function outcomeOf(result: Promise<unknown>): Promise<{ readonly ok: boolean; readonly text: string }> {
  try {
    const { isError, content } = (await result) as { isError?: unknown; content?: unknown }
    const texts = (Array.isArray(content) ? content : []).flatMap((item: unknown) => textOf(item))
    return { ok: isError !== true, text: texts.join('\n').slice(0, MAX_READ) }
  } catch (error) {
    return { ok: false, text: (error instanceof Error ? error.message : String(error)).slice(0, MAX_READ) }
  }
}

function textOf(item: unknown): string[] {
  if (typeof item !== 'object' || item === null || !('text' in item)) return []
  return typeof item.text === 'string' ? [item.text] : []
}

type Clean = (text: string) => string

const MAX_SHOWN = 500

/** How the report names files that are in memory only. A server can give a file any name. */
export const lostFilesShown = (paths: readonly string[], { home }: Outside, clean: Clean): string[] =>
  paths.slice(0, MAX_LOST_FILES).map((path) => shown(path, home, clean, MAX_SHOWN))

/**
 * The folders outside that would keep these files, where a path may be granted. A folder inside of another one, or of one in
 * `known`, is left out. So are hidden folders of the home: they hold caches and settings, which a server can do without.
 */
export function refusalsOfLost(
  paths: readonly string[],
  known: readonly Refusal[],
  outside: Outside,
  clean: Clean,
): Refusal[] {
  const { home } = outside
  const folders = new Map<string, string>()
  const seen = new Set<string>()
  for (const path of paths) {
    const parent = dirname(path)
    if (seen.has(parent) || path.startsWith(`${home}/.`)) continue
    seen.add(parent)
    const folder = existingFolder(parent)
    if (isGrantable(folder, outside) && !folders.has(folder)) folders.set(folder, path)
  }
  const named = known.flatMap(({ kind, path }) => (kind === 'write' && path !== null ? [path] : []))
  const isNeeded = (folder: string) =>
    !named.some((each) => isInside(folder, each)) &&
    ![...folders.keys()].some((each) => each !== folder && isInside(folder, each))
  return [...folders]
    .filter(([folder]) => isNeeded(folder))
    .slice(0, Math.max(0, MAX_REFUSALS - known.length))
    .map(([folder, file]) => ({
      kind: 'write',
      path: folder,
      evidence: `${shown(file, home, clean, MAX_EVIDENCE - END.length)}${END}`,
      seen_in: 'lost_files',
    }))
}

const END = ' was written in memory only and is lost at the end'

function shown(path: string, home: string, clean: Clean, most: number): string {
  const short = path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
  return clean(short).replace(CONTROL, '?').slice(0, most)
}

/** They could move the cursor of a terminal, or reverse the order of what is shown. */
const CONTROL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
