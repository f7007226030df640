import { randomBytes, scrypt } from 'node:crypto'
import { AppError } from '../../../kernel/errors.ts'
import { Vault } from '../../../kernel/secrets/vault.ts'
import { hashOf } from '../../../servers/shared/definition/definition-hash.ts'
import { type ExportFile, PART_LENGTH, type Sealed } from './transfer.schema.ts'

/** 32 MiB and about a quarter of a second for each guess. Fixed, so that a file cannot demand more. */
const COST = { n: 32_768, r: 8, p: 3 } as const
const MEMORY = 64 * 1024 * 1024

export interface Secrets {
  /** By id of the server: its fields that contain secrets, in full. */
  readonly servers: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** The values of named secrets. */
  readonly named: Readonly<Record<string, string>>
}

/** What the secrets are bound to: they cannot be opened in a file whose other content was changed. */
type Open = Pick<ExportFile, 'format' | 'version' | 'servers' | 'named_secrets' | 'agents' | 'presets'>

export async function sealSecrets(secrets: Secrets, file: Open, passphrase: string): Promise<Sealed> {
  const salt = randomBytes(16)
  const text = new Vault(await keyFrom(passphrase, salt)).seal(placeOf(file), secrets)
  const data: string[] = []
  for (let from = 0; from < text.length; from += PART_LENGTH) data.push(text.slice(from, from + PART_LENGTH))
  return { kdf: 'scrypt', ...COST, salt: salt.toString('base64'), data }
}

export async function openSecrets(sealed: Sealed, file: Open, passphrase: string): Promise<Secrets> {
  const vault = new Vault(await keyFrom(passphrase, Buffer.from(sealed.salt, 'base64')))
  try {
    return vault.open(placeOf(file), sealed.data.join('')) as Secrets
  } catch {
    // AES-GCM cannot tell a wrong key from changed data.
    throw new AppError(
      'wrong_passphrase',
      'The passphrase does not open the secrets of this file, or the file was changed since it was exported',
      { hint: 'Nothing was imported. Check the passphrase, and use the file as it was exported' },
    )
  }
}

const placeOf = ({ format, version, servers, named_secrets, agents, presets }: Open): string =>
  hashOf({ format, version, servers, named_secrets, agents, presets })

function keyFrom(passphrase: string, salt: Buffer): Promise<Buffer> {
  const { n: N, r, p } = COST
  return new Promise((resolve, reject) => {
    scrypt(passphrase, salt, 32, { N, r, p, maxmem: MEMORY }, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}
