import type { Remotes } from './http-servers/remote.ts'
import type { Catalogues } from './kernel/catalogue.ts'
import type { FactBus } from './kernel/facts.ts'
import type { KnownSecrets } from './kernel/known-secrets.ts'
import type { Log } from './kernel/log.ts'
import { maskText } from './kernel/secrets.ts'
import { VERSION } from './kernel/version.ts'
import { Connection } from './mcp/connection.ts'
import { probe } from './mcp/http/probe.ts'
import { RemoteConnection } from './mcp/http/remote-connection.ts'
import { markOf } from './supervisor/mark.ts'
import { Reaper } from './supervisor/reaper.ts'
import { sweep } from './supervisor/signals.ts'
import { StartSlots } from './supervisor/start-slots.ts'
import { Supervisor } from './supervisor/supervisor.ts'

/** At most so many servers start at once; one that is stuck gives its place back after a while. */
const SLOTS = 4
const SLOT_MS = 2000

interface Deps {
  readonly folder: string
  readonly facts: FactBus
  readonly secrets: KnownSecrets
  readonly catalogues: Catalogues
  readonly log: Log
}

export interface EngineRoom {
  readonly supervisor: Supervisor<Connection>
  /** As it stands in the environment of everything that is started. */
  readonly mark: string
  close(): Promise<void>
}

/** Processes and the protocol, connected. What a service that was killed left behind is ended before anything starts. */
export function openEngineRoom({ folder, facts, secrets, catalogues, log }: Deps): EngineRoom {
  const mark = markOf(folder)
  const leftovers = sweep(mark)
  if (leftovers > 0) log.warn({ processes: leftovers }, 'ended processes that an earlier run had left')
  const reaper = new Reaper({ mark, onTrouble: (message) => log.error(message) })
  const supervisor = new Supervisor<Connection>({
    mark,
    reaper,
    slots: new StartSlots(SLOTS, SLOT_MS),
    clean: (text) => maskText(secrets.redact(text)),
    onState: (server_id, state, cause) => {
      const level = state.status === 'backoff' || state.status === 'failed' ? 'warn' : 'info'
      log[level]({ server_id, status: state.status, cause }, `server ${state.status}: ${cause}`)
      facts.publish('server_status', { server_id, state, cause })
    },
    onLine: (server_id, stream, text, cut) => facts.publish('server_line', { server_id, stream, text, cut }),
    onResources: (server_id, resources) => facts.publish('server_resources', { server_id, resources }),
    converse: (id, { timeouts }, streams) => {
      const connection: Connection = new Connection({
        ...streams,
        version: VERSION,
        startMs: timeouts.start_s * 1000,
        knownVersion: catalogues.of(id)?.protocol_version ?? null,
        onTools: ({ tools, truncated, duplicates }) => {
          const { greeting } = connection
          if (!greeting) return
          const { protocol_version, server_info, capabilities, instructions } = greeting
          catalogues.learned(id, {
            protocol_version,
            server_info,
            capabilities,
            instructions,
            tools,
            truncated,
            duplicates,
          })
        },
      })
      return connection
    },
  })
  return {
    supervisor,
    mark,
    close: async () => {
      await supervisor.close()
      await reaper.close()
    },
  }
}

/** How HTTP servers are reached. */
export function openRemotes(): Remotes {
  return {
    probe: async ({ url, headers, transport }) => {
      const report = await probe({ url, headers, transport, version: VERSION })
      return { ...report, steps: [...report.steps] }
    },
    open: ({ url, headers, transport }, known, onTools) => {
      const connection: RemoteConnection = new RemoteConnection({
        url,
        headers,
        transport,
        known,
        version: VERSION,
        onTools: ({ tools, truncated, duplicates }) => {
          const { greeting, transport: used } = connection
          if (!greeting || !used) return
          const { protocol_version, server_info, capabilities, instructions } = greeting
          const said = { protocol_version, server_info, capabilities, instructions, transport: used }
          onTools({ ...said, tools, truncated, duplicates })
        },
      })
      return {
        connect: (timeoutMs) => connection.connect(timeoutMs),
        refresh: async (timeoutMs) => void (await connection.refresh(timeoutMs)),
        call: (tool, args, options) => connection.call(tool, args, options),
        close: () => void connection.close(),
      }
    },
  }
}
