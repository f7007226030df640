import type { Isolation } from '../../../kernel/isolation-options.ts'
import type { KnownSecrets } from '../../../kernel/secrets/known-secrets.ts'
import { secretsIn } from '../../../kernel/secrets/mask-secrets.ts'
import type { Launch, Plan } from '../../../kernel/server-plan.ts'
import type { LastError } from '../../../kernel/server-state.ts'
import type { Catalogue, Catalogues, DiscoveredServer } from '../../shared/catalogues.ts'
import type { References } from '../../shared/definition/resolved-references.ts'
import { OFFER_DEFAULTS } from '../../shared/tool-settings.ts'
import { toolListOf } from '../../shared/tool-view.ts'
import type { Tries } from '../../shared/tries.ts'
import { type ProgramOf, programFor } from '../run-settings.ts'
import type { Server } from '../servers.schema.ts'
import { startDigest } from '../start-digest.ts'
import type { TrialReport } from './actions.schema.ts'

/** What a start runs. */
export type Startable = Pick<Plan, 'cwd' | 'confinement'> & Omit<Extract<Launch, { ok: true }>, 'ok'>

/** Resolves to the result as the server sent it. Rejects with a CallFailure. */
export type CallTool = (tool: string, args: unknown) => Promise<unknown>

/** For a trial that does more than list the tools. */
export interface Watch {
  /** Called while it runs. */
  readonly use: (call: CallTool) => Promise<void>
  /** Called before it is ended, even if it did not start well: absolute paths of files that are in memory only. */
  readonly onLost: (paths: readonly string[], count: number) => void
}

/** Starts it once, lists its tools, and ends it with everything it started. */
export type TryOut = (
  definition: Startable,
  startMs: number,
  watch?: Watch,
) => Promise<
  | { readonly ok: true; readonly found: DiscoveredServer; readonly stderr_tail: readonly string[] }
  | { readonly ok: false; readonly error: LastError; readonly stderr_tail: readonly string[] }
>

interface Deps {
  readonly tryOut: TryOut
  readonly programOf: ProgramOf
  readonly versionOf: (packageName: string) => string | null
  readonly references: Pick<References, 'check' | 'resolve' | 'forget'>
  readonly secrets: KnownSecrets
  readonly catalogues: Pick<Catalogues, 'cleaned'>
  readonly tries: Pick<Tries, 'keepTrial'>
  readonly now: () => number
}

/** The fields of a definition that a trial needs. */
export type Tried = Pick<
  Server,
  'command' | 'package' | 'args' | 'env' | 'cwd' | 'timeouts' | 'outgoing_allowed' | keyof Isolation
>

/** The last lines of a process may be read a moment after its end. */
const FORGET_AFTER_MS = 5000

/**
 * Starts definitions without adding them. Their secrets are masked meanwhile, and nothing is stored or logged. The result
 * counts for a server that is added with exactly this definition.
 */
export function createTrials({ tryOut, programOf, references, secrets, ...deps }: Deps) {
  const { catalogues, tries, versionOf, now } = deps
  let trials = 0
  return async (tried: Tried, watch?: Watch): Promise<TrialReport> => {
    const startedAt = performance.now()
    references.check(tried)
    trials += 1
    const owner = `trial:${trials}`
    secrets.set(owner, secretsIn(tried))
    try {
      const resolved = references.resolve(owner, tried)
      const digest = startDigest(tried, resolved, versionOf)
      if (!resolved.ok) return failed(resolved.error, [], 0)
      const { env, cwd, isolation, isolation_options } = resolved.definition
      const confinement = { isolation, isolation_options }
      const program = programFor(resolved.definition, programOf)
      if (!program.ok) return failed(program.error, [], 0)
      const { ok: _, ...startable } = program
      const outcome = await tryOut(
        { ...startable, env, cwd, confinement },
        tried.timeouts.start_s * 1000,
        watch,
      )
      const ms = Math.round(performance.now() - startedAt)
      if (!watch) {
        if (outcome.ok) tries.keepTrial(digest, { error: null }, outcome.found)
        else tries.keepTrial(digest, { error: outcome.error, crashed: true })
      }
      if (!outcome.ok) return failed(outcome.error, outcome.stderr_tail, ms)
      const found = catalogues.cleaned(owner, outcome.found)
      const catalogue: Catalogue = { ...NO_LISTS, ...found, fetched_at: now() }
      const { items } = toolListOf(catalogue, 'live', NOT_OFFERED)
      const { protocol_version, server_info } = found
      return {
        ok: true,
        duration_ms: ms,
        protocol_version,
        server_info,
        tools: items,
        tool_count: items.length,
        error: null,
        stderr_tail: [...outcome.stderr_tail],
      }
    } finally {
      const forget = () => {
        secrets.delete(owner)
        references.forget(owner)
      }
      setTimeout(forget, FORGET_AFTER_MS).unref()
    }
  }
}

const NO_LISTS = { prompts: [], resources: [], resource_templates: [] }
const NOT_OFFERED = {
  settings: OFFER_DEFAULTS,
  names: new Map<string, string>(),
  held: new Map<string, never>(),
}

const failed = (error: LastError, stderr_tail: readonly string[], duration_ms: number): TrialReport => ({
  ok: false,
  duration_ms,
  protocol_version: null,
  server_info: null,
  tools: [],
  tool_count: null,
  error: { ...error },
  stderr_tail: [...stderr_tail],
})
