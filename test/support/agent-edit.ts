import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { Edit } from '../../src/agents/edit/edit.service.ts'
import { FileWriter } from '../../src/agents/edit/file-writer.ts'
import { Undo } from '../../src/agents/edit/undo-change.ts'
import { type Backup, Backups } from '../../src/agents/files/file-backups.ts'
import { createKeys } from '../../src/gateway/keys/keys.service.ts'
import { FactBus } from '../../src/kernel/fact-bus.ts'
import type { Caller } from '../../src/kernel/rest-parts.ts'
import { Vault } from '../../src/kernel/secrets/vault.ts'
import { ConfigurationDatabase } from '../../src/store/configuration/configuration.ts'
import { openKeyStore } from '../../src/store/keys.store.ts'
import { openOwnership } from '../../src/store/managed-entries.store.ts'
import { ownFolder } from './folder.ts'

/** Backups that count what is restored, and let a test act between the backup and the write. */
class ObservedBackups extends Backups {
  restored = 0
  onKeep = (): void => {}

  override keep(...args: Parameters<Backups['keep']>): Backup {
    const backup = super.keep(...args)
    this.onKeep()
    return backup
  }

  override content(backup: Backup): Buffer | null | undefined {
    this.restored += 1
    return super.content(backup)
  }
}

/** The editing of agents' files below a home directory, with its own store and without the rest of the service. */
export async function openEdit(home: string) {
  const folder = ownFolder()
  const facts = new FactBus((error) => {
    throw error
  })
  const database = await ConfigurationDatabase.open({ folder, facts })
  onTestFinished(() => database.close())
  const keyStore = await openKeyStore(database, (type) => type)
  const keys = createKeys({ store: keyStore, typeOf: (type) => type, now: Date.now, onError: () => {} })
  const ownership = await openOwnership(database, new Vault(Buffer.alloc(32, 1)), keyStore)
  const backups = new ObservedBackups(folder)
  const platform = {
    os: process.platform === 'win32' ? ('win32' as const) : ('linux' as const),
    home,
    env: {},
    exists: existsSync,
    list: (of: string) => (existsSync(of) ? readdirSync(of) : []),
  }
  let addresses = 0
  const gateway = {
    address: () => {
      addresses += 1
      return 'http://127.0.0.1:1'
    },
    data: '/data',
    program: { command: 'node', mainFile: 'main.js', keep: async () => {} },
    draft: (agent_type: string, name: string, by: Caller) => keys.draft({ agent_type, name }, by),
    removalOf: keys.removalOf,
    idOf: keys.idOf,
    idsOf: () => [],
  }
  const deps = {
    platform,
    facts,
    backups,
    ownership,
    gateway,
    now: Date.now,
    lockLedger: join(folder, 'agent-locks'),
    registered: async () => [],
    offers: {
      isStopped: () => false,
      chosenFor: () => null,
      withChoice: () => new Map(),
      choose: async () => {},
    },
    secretOf: () => undefined,
    isSet: () => false,
    asImported: () => null,
    usersOf: () => [],
  }
  const onTrouble = (_: string, error: unknown) => {
    throw error
  }
  const writer = new FileWriter({ ...deps, store: ownership, cleanUp: () => {}, onTrouble })
  const edit = new Edit({ ...deps, writer })
  const undoing = new Undo({ ...deps, writer })
  return { ...deps, keys, edit, undoing, addresses: () => addresses }
}
