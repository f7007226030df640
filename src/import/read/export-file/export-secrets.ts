import { randomBytes, scrypt } from 'node:crypto'
import { AppError } from '../../../kernel/errors.ts'
import { isObject } from '../../../kernel/json/json-checks.ts'
import { MASK, maskArgs, maskCommand, maskUrl, maskValues } from '../../../kernel/secrets/mask-secrets.ts'
import { Vault } from '../../../kernel/secrets/vault.ts'
import { maskOAuth } from '../../../servers/logins/oauth-settings.ts'
import { hashOf } from '../../../servers/shared/compare-listed-definitions.ts'
import { type ExportFile, PART_LENGTH, type Sealed } from './export-file.schema.ts'

/** The fields of a server as they are sent to add it. */
type Definition = Readonly<Record<string, unknown>>

type Texts = Record<string, string>

/** How each field that may contain a secret is shown. */
const MASKS: Readonly<Record<string, (value: unknown) => unknown>> = {
  command: (value) => maskCommand(String(value)),
  args: (value) => maskArgs(value as string[]),
  env: (value) => maskValues(value as Texts),
  url: (value) => maskUrl(String(value)),
  headers: (value) => maskValues(value as Texts),
  oauth: (value) => (isObject(value) ? maskOAuth(value) : value),
}

/** The definition with secrets masked, and the fields that this has changed, in full. */
export function separateSecrets(definition: Definition): {
  readonly masked: Definition
  readonly secrets: Definition
} {
  const masked = Object.entries(definition).map(([field, value]): [string, unknown] => [
    field,
    Object.hasOwn(MASKS, field) ? MASKS[field]?.(value) : value,
  ])
  const isChanged = ([field, value]: [string, unknown]) =>
    JSON.stringify(value) !== JSON.stringify(definition[field])
  const secrets = masked.filter(isChanged).map(([field]) => [field, definition[field]])
  return { masked: Object.fromEntries(masked), secrets: Object.fromEntries(secrets) }
}

/** Fields whose values have names. */
const WITH_NAMES: ReadonlySet<string> = new Set(['env', 'headers', 'oauth'])

/**
 * A definition without the values that are not in the file, for a server that does not exist yet. `missing` names them;
 * `broken` are fields that make no sense without them.
 */
export function withoutMasked(definition: Definition): {
  readonly rest: Definition
  readonly missing: readonly string[]
  readonly broken: readonly string[]
} {
  const missing: string[] = []
  const rest = Object.entries(definition).map(([field, value]): [string, unknown] => {
    if (!WITH_NAMES.has(field) || !isObject(value)) return [field, value]
    const entries = Object.entries(value)
    missing.push(...entries.filter(([, text]) => text === MASK).map(([name]) => name))
    return [field, Object.fromEntries(entries.filter(([, text]) => text !== MASK))]
  })
  const broken = rest
    .filter(([field, value]) => Object.hasOwn(MASKS, field) && JSON.stringify(value).includes(MASK))
    .map(([field]) => field)
  return { rest: Object.fromEntries(rest), missing, broken }
}

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
  const text = new Vault(await keyFrom(passphrase, salt)).seal(bindingOf(file), secrets)
  const data: string[] = []
  for (let from = 0; from < text.length; from += PART_LENGTH) data.push(text.slice(from, from + PART_LENGTH))
  return { kdf: 'scrypt', ...COST, salt: salt.toString('base64'), data }
}

export async function openSecrets(sealed: Sealed, file: Open, passphrase: string): Promise<Secrets> {
  const vault = new Vault(await keyFrom(passphrase, Buffer.from(sealed.salt, 'base64')))
  try {
    return vault.open(bindingOf(file), sealed.data.join('')) as Secrets
  } catch {
    // AES-GCM cannot tell a wrong key from changed data.
    throw new AppError(
      'wrong_passphrase',
      'The passphrase does not open the secrets of this file, or the file was changed since it was exported',
      { hint: 'Nothing was imported. Check the passphrase, and use the file as it was exported' },
    )
  }
}

const bindingOf = ({ format, version, servers, named_secrets, agents, presets }: Open): string =>
  hashOf({ format, version, servers, named_secrets, agents, presets })

function keyFrom(passphrase: string, salt: Buffer): Promise<Buffer> {
  const { n: N, r, p } = COST
  return new Promise((resolve, reject) => {
    scrypt(passphrase, salt, 32, { N, r, p, maxmem: MEMORY }, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}
