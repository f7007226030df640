import { AppError } from '../../kernel/errors.ts'
import type { ConfigTarget } from '../catalogue/agent-catalogue.ts'
import { readGatewayEntry } from '../catalogue/gateway-entry.ts'
import { hashOf } from '../catalogue/json-value.ts'
import type { RegisteredServer } from '../catalogue/server-definition.ts'
import type { Entry } from '../read/read-entries.ts'
import { linkedServer, type SecretOf } from '../read/server-identity.ts'
import type { Plan } from './entry-plan.ts'

interface Deps {
  readonly registered: () => Promise<readonly RegisteredServer[]>
  readonly secretOf: SecretOf
}

interface Started {
  readonly started: readonly Entry[]
  /** Gets the warnings. */
  readonly plan: { readonly warnings: string[]; readonly entries?: Plan['entries'] }
}

/** What a change makes an agent start itself: entries with a command that are new, changed or switched on. */
export const startedEntries = (before: readonly Entry[], after: readonly Entry[]): Entry[] =>
  after.filter(
    ({ name, value, definition, enabled }) =>
      definition?.type === 'stdio' &&
      enabled !== false &&
      !readGatewayEntry(definition) &&
      !before.some(
        (each) => each.name === name && each.enabled !== false && hashOf(each.value) === hashOf(value),
      ),
  )

/**
 * No agent gets the bare command of a server that has an isolation: it would start it with all rights of the user. Throws if
 * the change would do that; one that brings back what the agent had before has a warning.
 */
export async function checkIsolated(
  { registered, secretOf }: Deps,
  { agent }: Pick<ConfigTarget, 'agent'>,
  action: 'set' | 'remove' | 'restore' | 'undo',
  { started, plan }: Started,
): Promise<void> {
  if (started.length === 0) return
  const servers = await registered()
  for (const { name, definition } of started) {
    const made = Object.entries(plan.entries ?? {}).find(([key]) => key === name)?.[1].server_id
    const id = made ?? linkedServer(definition, servers, secretOf)?.id
    const server = servers.find((each) => each.id === id)
    if (!server?.isIsolated) continue
    const hint = `Connect ${agent.name} to the gateway: toolroom connect ${agent.type}`
    if (action === 'set')
      throw new AppError(
        'server_isolated',
        `'${server.name}' is isolated, and ${agent.name} would start its command without the isolation`,
        { hint },
      )
    plan.warnings.push(`'${name}' runs without the isolation of '${server.name}' again. ${hint}`)
  }
}
