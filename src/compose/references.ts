import { createSecrets, type Secrets } from '../api/secrets/secrets.service.ts'
import { ENV_NAMES } from '../kernel/config/schema.ts'
import type { FactBus } from '../kernel/facts.ts'
import type { KnownSecrets } from '../kernel/secrets/known-secrets.ts'
import type { Carrier } from '../kernel/secrets/secrets.ts'
import type { Vault } from '../kernel/secrets/vault.ts'
import { References, secretNamesIn } from '../servers/shared/definition/definition-references.ts'
import type { ConfigurationDatabase } from '../store/configuration/configuration.ts'
import { openSecretStore } from '../store/secrets.store.ts'

interface Parts {
  readonly database: ConfigurationDatabase
  readonly vault: Vault
  readonly facts: FactBus
  readonly secrets: KnownSecrets
  /** Toolroom's own environment. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** All servers of both kinds. Called only after the service has started. */
  readonly servers: () => Promise<readonly (Carrier & { readonly id: string })[]>
}

/** The named secrets, and the references that servers make to them and to the environment. */
export async function openReferences({ database, vault, facts, secrets, env, servers }: Parts) {
  const namedSecrets: Secrets = createSecrets({
    facts,
    secrets,
    store: await openSecretStore(database, vault),
    usedBy: async (name) =>
      (await servers()).filter((server) => secretNamesIn(server).includes(name)).map(({ id }) => id),
    now: Date.now,
  })
  const references = new References({
    env,
    ownSettings: ENV_NAMES,
    secretOf: namedSecrets.current,
    secrets,
  })
  return { namedSecrets, references }
}
