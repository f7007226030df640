import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { configError } from '../exit-codes.ts'
import { writeDurably } from '../files/durable-file.ts'
import type { Bind } from './bind-address.ts'

export interface Token {
  readonly value: string
  /** The file that contains the generated token; null if AUTH_TOKEN is set. */
  readonly file: string | null
  readonly warnings: readonly string[]
}

/** AUTH_TOKEN, or 32 random bytes generated once and kept in the data folder. */
export function tokenFor(dataFolder: string, given: string | undefined): Token {
  if (given === undefined) return generatedToken(tokenFile(dataFolder))
  const weak = 'AUTH_TOKEN is weak: use 32 random bytes, for example 64 hexadecimal characters'
  return { value: given, file: null, warnings: isStrong(given) ? [] : [weak] }
}

export const tokenFile = (dataFolder: string): string => join(dataFolder, 'token')
export const newToken = (): string => randomBytes(32).toString('hex')

export function saveToken(file: string, token: string): string {
  writeDurably(file, `${token}\n`, 0o600)
  return token
}

/** 32 random bytes need 43 characters, or 64 hexadecimal digits. */
export function isStrong(token: string): boolean {
  return token.length >= (/^[0-9a-f]*$/i.test(token) ? 64 : 43) && new Set(token).size >= 8
}

/** Beyond loopback, a strong AUTH_TOKEN is required. */
export function assertMayBind(bind: Bind | undefined, host: string, token: string | undefined): Bind {
  const shown = JSON.stringify(host)
  if (!bind) throw configError(`HOST must be an IP address or a host name, not ${shown}`)
  if (bind.loopback) return bind
  const need = `HOST ${shown} opens Toolroom to the network, which requires an AUTH_TOKEN`
  if (token === undefined) throw configError(`${need}; set one with 64 random hexadecimal characters`)
  if (!isStrong(token)) throw configError(`${need} with at least 32 bytes of randomness`)
  return bind
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw configError(
      `${file} cannot be read (${why}); correct its owner and permissions, or delete it to get a new token`,
      cause,
    )
  }
}

function generatedToken(file: string): Token {
  if (!existsSync(file)) return { value: saveToken(file, newToken()), file, warnings: [] }
  const value = textOf(file).trim()
  if (!/^[\x21-\x7e]{1,512}$/.test(value) || !isStrong(value))
    throw configError(`${file} does not contain a usable token; delete the file to get a new one`)
  const isOpen = process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0
  if (isOpen) chmodSync(file, 0o600)
  const warning = 'The token file was readable by other users. Its permissions were corrected'
  return { value, file, warnings: isOpen ? [warning] : [] }
}
