import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const PREFIX = 'v1:'

/**
 * Encrypts stored values: AES-256-GCM with a random nonce per value. The place (`github:env`) is bound to the
 * ciphertext, so a value copied to another row or field cannot be opened there. This protects backups and copied
 * databases. It does not protect against other processes of the same user, which can read the key.
 */
export class Vault {
  readonly #key: Buffer

  constructor(key: Buffer) {
    if (key.length !== 32) throw new Error('the key must have 32 bytes')
    this.#key = key
  }

  seal(place: string, value: unknown): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#key, nonce).setAAD(Buffer.from(place))
    const sealed = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
    return PREFIX + Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64')
  }

  /** Throws if the key, the place or the bytes differ from those that were sealed. */
  open(place: string, sealed: string): unknown {
    if (!sealed.startsWith(PREFIX))
      throw new Error(`the stored value of ${place} is not encrypted as expected`)
    const bytes = Buffer.from(sealed.slice(PREFIX.length), 'base64')
    const end = bytes.length - TAG_BYTES
    const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, NONCE_BYTES))
    decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(end))
    const text = decipher.update(bytes.subarray(NONCE_BYTES, end), undefined, 'utf8') + decipher.final('utf8')
    return JSON.parse(text)
  }
}

/** A gateway key as it is stored, by the gateway or with a change of an agent's file. The digest cannot be used as a key. */
export interface KeyRecord {
  readonly id: string
  readonly name: string
  readonly agent_type: string
  readonly digest: string
  readonly created_at: number
  readonly last_used_at: number | null
}
