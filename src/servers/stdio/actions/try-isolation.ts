import { homedir } from 'node:os'
import type { KnownSecrets } from '../../../kernel/secrets/known-secrets.ts'
import { keysAfterEdit } from '../../shared/definition/outgoing.ts'
import { checkIsolation, isolationOver, shownOptions } from '../isolation-settings.ts'
import type { Server } from '../servers.schema.ts'
import type { TrialReport } from './actions.schema.ts'
import { MAX_EVIDENCE, type Refusal, refusalsIn, widened } from './isolation-refusals.ts'
import type { IsolationTrialInput, IsolationTrialReport } from './isolation-trial.schema.ts'
import { lostFilesShown, refusalsOfLost } from './lost-file-report.ts'
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
  const tried = { ...server, isolation, isolation_options }
  checkIsolation(tried)
  const outgoing_allowed = keysAfterEdit(server, tried, () => false)
  const calls: IsolationTrialReport['calls'] = []
  const texts: string[] = []
  let lost: Parameters<Watch['onLost']> = [[], 0]
  const report = await tryOut(
    { ...tried, outgoing_allowed },
    {
      use: async (call) => {
        for (const { tool, arguments: args = {} } of wanted) {
          const { ok, text } = await resultTextOf(call(tool, args))
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
  const folder = refusedFolder(report.error, server.cwd)
  const refused = [...folder, ...errors, ...refusalsOfLost(paths, errors, outside, clean)]
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

/** The working folder, if it was outside of what the server may reach: then nothing was started. */
const refusedFolder = (error: TrialReport['error'], cwd: string | null): Refusal[] =>
  error?.code === 'path_not_granted' && cwd !== null && error.message.includes(`its working folder ${cwd} `)
    ? [{ kind: 'read', path: cwd, evidence: error.message.slice(0, MAX_EVIDENCE), seen_in: 'errors' }]
    : []

async function resultTextOf(
  result: Promise<unknown>,
): Promise<{ readonly ok: boolean; readonly text: string }> {
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
