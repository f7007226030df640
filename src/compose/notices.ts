import type { Agents } from '../agents/agents.service.ts'
import { isStrong } from '../kernel/config/token.ts'
import { diskFull } from '../kernel/errors.ts'
import type { FactBus } from '../kernel/facts.ts'
import type { Log } from '../kernel/log.ts'
import type { KnownSecrets } from '../kernel/secrets/known-secrets.ts'
import { redactText } from '../kernel/secrets/redact-text.ts'
import { VERSION } from '../kernel/version.ts'
import type { HealthCheck } from '../observe/health/health.service.ts'
import { createHealth } from '../observe/health/health.service.ts'
import { settingsWarning, weakToken } from '../observe/notices/causes.ts'
import { createNotices, type Notices } from '../observe/notices/notices.service.ts'
import type { Packages } from '../servers/packages/packages.service.ts'
import type { Catalogues } from '../servers/shared/catalogues.ts'
import type { Upstreams } from '../servers/shared/upstreams.ts'
import type { ConfigurationDatabase } from '../store/configuration/configuration.ts'
import { openNoticeStore } from '../store/notices.store.ts'
import { findOrphans } from '../supervisor/orphans/orphans.ts'
import type { Closer } from './closer.ts'
import type { Logging } from './logging.ts'
import type { Runtime } from './runtime.ts'

interface Parts {
  readonly database: ConfigurationDatabase
  readonly facts: FactBus
  readonly secrets: KnownSecrets
  readonly log: Log
  readonly closer: Closer
  readonly upstreams: Upstreams
  readonly catalogues: Catalogues
  /** Whether changed tools wait for approval. */
  readonly hold: boolean
  readonly packages: Pick<Packages, 'states'>
  readonly agents: Pick<Agents, 'fileTroubles'>
  readonly runtime: Pick<Runtime, 'platform' | 'mark'>
  readonly logging: Pick<Logging, 'store' | 'pipeline' | 'lossReason'>
  /** What the start reported. */
  readonly warnings: readonly string[]
  /** Those about a weak token. They are over when the token was replaced by a strong one. */
  readonly tokenWarnings: readonly string[]
  readonly token: { readonly value: string }
  readonly uptimeMs: () => number
}

/** The notices, and the health check that repeats them. */
export async function openNotices(parts: Parts): Promise<{ notices: Notices; health: HealthCheck }> {
  const { database, facts, secrets, log, closer, upstreams, catalogues, packages, agents, logging, runtime } =
    parts
  const diskIsFull = () => !database.reserve.hasRoom()
  const notices = await createNotices({
    facts,
    upstreams,
    heldTools: parts.hold ? (id) => [...catalogues.held(id).keys()] : undefined,
    agentFiles: (agentType) => agents.fileTroubles(agentType),
    packages: () => packages.states(),
    orphans: () => findOrphans({ table: runtime.platform.table, mark: runtime.mark }),
    diskIsFull,
    logFailure: logging.lossReason,
    settings: () =>
      parts.warnings.flatMap((text) => {
        if (!parts.tokenWarnings.includes(text)) return settingsWarning(text)
        return isStrong(parts.token.value) ? [] : weakToken(text)
      }),
    store: await openNoticeStore(database),
    redact: (text) => redactText(text, secrets),
    now: Date.now,
    clock: () => performance.now(),
    onError: (error) => log.error({ error }, 'notices could not be saved'),
  })
  closer.add('the notices', () => notices.close())
  const disk = async () => {
    if (diskIsFull()) throw diskFull('The disk that holds the data folder is full')
  }
  const logCheck = async () => {
    await logging.store.check()
    if (logging.pipeline.failure !== undefined) throw new Error(logging.pipeline.failure)
  }
  const checks = { store: () => database.check(), logs: logCheck, disk }
  const health = createHealth({
    version: VERSION,
    notices: () => notices.health(),
    checks,
    uptimeMs: parts.uptimeMs,
  })
  return { notices, health }
}
