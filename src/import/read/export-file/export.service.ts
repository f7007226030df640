import { invalidField } from '../../../kernel/errors.ts'
import type { AuditEntry } from '../../../kernel/facts.ts'
import { isoTime } from '../../../kernel/time.ts'
import type { Caller } from '../../../kernel/wire.ts'
import { type Definition, separateSecrets } from './definition.ts'
import { sealSecrets } from './seal.ts'
import { type ExportFile, FORMAT, PASSPHRASE_HEADER } from './transfer.schema.ts'

/** A registered server with all its settings, secrets included. */
export interface ExportedServer {
  readonly id: string
  readonly type: 'stdio' | 'http'
  readonly definition: Definition
}

export interface ExportDeps {
  readonly servers: () => Promise<readonly ExportedServer[]>
  /** The values of named secrets. */
  readonly namedSecrets: () => Promise<Readonly<Record<string, string>>>
  readonly presets: () => ExportFile['presets']
  /** What agents see, and which of these servers their files have. */
  readonly agents: (servers: readonly ExportedServer[]) => ExportFile['agents']
  readonly audit: (entry: AuditEntry) => Promise<void>
  readonly version: string
  readonly now: () => number
}

/** Everything that a person has set up, in one file. */
export function createExport(deps: ExportDeps) {
  const { servers, namedSecrets, agents, presets, audit, version, now } = deps
  return async (passphrase: string | undefined, includeSecrets: boolean, by: Caller): Promise<ExportFile> => {
    if (includeSecrets && passphrase === undefined)
      throw invalidField(
        `/${PASSPHRASE_HEADER}`,
        'is required with include_secrets',
        `Send the passphrase in the header ${PASSPHRASE_HEADER}`,
      )
    const [all, named] = [await servers(), await namedSecrets()]
    const parts = all.map(({ id, type, definition }) => ({ id, type, ...separateSecrets(definition) }))
    const file = {
      format: FORMAT,
      version: 1,
      exported_at: isoTime(now()),
      toolroom_version: version,
      servers: parts.map(({ id, type, masked }) => ({ id, type, definition: { ...masked } })),
      named_secrets: Object.keys(named).sort(),
      agents: agents(all),
      presets: presets(),
    } as const
    if (!includeSecrets || passphrase === undefined) return { ...file, secrets: null }
    const ofServers = Object.fromEntries(parts.map((part) => [part.id, part.secrets]))
    const sealed = await sealSecrets({ servers: ofServers, named }, file, passphrase)
    const detail = { servers: all.length, secrets: file.named_secrets }
    await audit({ action: 'secrets_exported', subject: 'export', ...by, detail })
    return { ...file, secrets: sealed }
  }
}
export type Export = ReturnType<typeof createExport>
