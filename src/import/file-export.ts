import { invalidField } from '../kernel/errors.ts'
import type { AuditEntry } from '../kernel/fact-bus.ts'
import type { Caller } from '../kernel/rest-parts.ts'
import { isoTime } from '../kernel/time.ts'
import { type ExportFile, FORMAT, PASSPHRASE_HEADER } from './read/export-file/export-file.schema.ts'
import { sealSecrets, separateSecrets } from './read/export-file/export-secrets.ts'
import type { ServerKinds } from './stdio-and-http-servers.ts'

interface Deps {
  readonly kinds: Pick<ServerKinds, 'list'>
  readonly namedSecrets: {
    list(): Promise<readonly { readonly name: string }[]>
    current(name: string): { readonly value: string } | undefined
  }
  readonly presets: () => ExportFile['presets']
  /** What agents see, and which of these servers their files have. */
  readonly agents: (ids: readonly string[]) => ExportFile['agents']
  readonly audit: (entry: AuditEntry) => Promise<void>
  readonly version: string
  readonly now: () => number
}

/** Everything that a person has set up, in one file. */
export function createFileExport({ kinds, namedSecrets, agents, presets, audit, version, now }: Deps) {
  return async (passphrase: string | undefined, includeSecrets: boolean, by: Caller): Promise<ExportFile> => {
    if (includeSecrets && passphrase === undefined)
      throw invalidField(
        `/${PASSPHRASE_HEADER}`,
        'is required with include_secrets',
        `Send the passphrase in the header ${PASSPHRASE_HEADER}`,
      )
    const all = await kinds.list()
    const values = (await namedSecrets.list()).map(({ name }) => [name, namedSecrets.current(name)?.value])
    const named: Record<string, string> = Object.fromEntries(values)
    const parts = all.map(({ id, type, definition }) => ({ id, type, ...separateSecrets(definition) }))
    const file = {
      format: FORMAT,
      version: 1,
      exported_at: isoTime(now()),
      toolroom_version: version,
      servers: parts.map(({ id, type, masked }) => ({ id, type, definition: { ...masked } })),
      named_secrets: Object.keys(named).sort(),
      agents: agents(all.map(({ id }) => id)),
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
export type FileExport = ReturnType<typeof createFileExport>
