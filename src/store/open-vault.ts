import { StartError } from '../kernel/exit-codes.ts'
import { Vault } from '../kernel/secrets/vault.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'
import { placeOfSecret } from './secrets.store.ts'

interface KeySource {
  readonly file: string
  find(): Buffer | undefined
  create(): Buffer
}

const KEY_CHECK = 'key_check'

/** Opens the stored secrets. Creates a key only while nothing is encrypted: a new key cannot open old secrets. */
export async function openVault(database: ConfigurationDatabase, source: KeySource): Promise<Vault> {
  const inUse = await hasSecrets(database)
  const found = source.find()
  if (!found && inUse) {
    throw new StartError(
      'configuration',
      `The secret key for the stored secrets is missing; restore ${source.file}, or set TOOLROOM_SECRET_KEY`,
    )
  }
  const vault = new Vault(found ?? source.create())
  if (inUse) await assertKeyMatches(database, vault)
  else if (!(await isChecked(database, vault))) await saveKeyCheck(database, vault)
  return vault
}

async function hasSecrets({ db }: ConfigurationDatabase): Promise<boolean> {
  const row = await db
    .selectFrom('tool_servers')
    .select('id')
    .where('sealed_fields', '!=', '{}')
    .limit(1)
    .execute()
  const secret = await db.selectFrom('secrets').select('name').limit(1).execute()
  const call = await db.selectFrom('saved_calls').select('id').limit(1).execute()
  const login = await db.selectFrom('logins').select('server_id').limit(1).execute()
  const client = await db.selectFrom('oauth_clients').select('id').limit(1).execute()
  const file = await db.selectFrom('agent_files').select('id').limit(1).execute()
  const change = await db.selectFrom('agent_changes').select('id').limit(1).execute()
  return [row, secret, call, login, client, file, change].some((rows) => rows.length > 0)
}

async function isChecked({ db }: ConfigurationDatabase, vault: Vault): Promise<boolean> {
  const check = await db.selectFrom('meta').select('value').where('key', '=', KEY_CHECK).executeTakeFirst()
  return opens(vault, KEY_CHECK, check?.value)
}

async function assertKeyMatches(database: ConfigurationDatabase, vault: Vault): Promise<void> {
  const { db } = database
  if (await isChecked(database, vault)) return
  const rows = await db.selectFrom('tool_servers').select(['id', 'sealed_fields']).execute()
  const secrets = await db.selectFrom('secrets').selectAll().execute()
  const isRight =
    rows.some(({ id, sealed_fields }) => opensAny(vault, id, sealed_fields)) ||
    secrets.some(({ name, sealed }) => opens(vault, placeOfSecret(name), sealed))
  if (!isRight) {
    throw new StartError('configuration', 'The secret key does not match the stored secrets')
  }
  await saveKeyCheck(database, vault) // the key is correct, only the check was damaged
}

function opens(vault: Vault, place: string, sealed = ''): boolean {
  try {
    vault.open(place, sealed)
    return true
  } catch {
    return false
  }
}

function opensAny(vault: Vault, id: string, sealedFields: string): boolean {
  try {
    const texts = Object.entries(JSON.parse(sealedFields) as Record<string, string>)
    return texts.some(([field, text]) => opens(vault, `${id}:${field}`, text))
  } catch {
    return false // a damaged row is no evidence about the key
  }
}

async function saveKeyCheck(database: ConfigurationDatabase, vault: Vault): Promise<void> {
  const row = { key: KEY_CHECK, value: vault.seal(KEY_CHECK, 'toolroom') }
  await database.put('meta', row, null, { frees: true }) // a start on a full disk needs it, too
}
