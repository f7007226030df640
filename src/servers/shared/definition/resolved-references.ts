import { AppError } from '../../../kernel/errors.ts'
import type { KnownSecrets } from '../../../kernel/secrets/known-secrets.ts'
import { type Carrier, isPlainSetting } from '../../../kernel/secrets/mask-secrets.ts'
import type { LastError } from '../../../kernel/server-state.ts'
import {
  malformedIn,
  type PlacedReference,
  referencesIn,
  resolveDefinition,
} from './definition-references.ts'
import { notAllowed, type Permitted } from './outgoing.ts'

interface ReferenceDeps {
  /** Toolroom's own environment. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The variables that configure Toolroom, in upper case. Those that begin with `TOOLROOM_` are always included. */
  readonly ownSettings: ReadonlySet<string>
  /** A named secret. `version` changes with its value. */
  readonly secretOf: (name: string) => { readonly value: string; readonly version: number } | undefined
  readonly secrets: KnownSecrets
}

/** The versions of the named secrets that a definition was resolved with. */
export type SecretVersions = ReadonlyMap<string, number>

export type Resolved<T> =
  | { readonly ok: true; readonly definition: T; readonly versions: SecretVersions }
  | { readonly ok: false; readonly error: LastError }

/** Resolves the references in servers' definitions, each time a server starts or connects. */
export class References {
  readonly #deps: ReferenceDeps
  /** By server. Those of former starts are included: their lines may still be read. */
  readonly #masked = new Map<string, Set<string>>()

  constructor(deps: ReferenceDeps) {
    this.#deps = deps
  }

  /** Throws when a definition cannot be stored: a reference is malformed, or refers to a setting of Toolroom. */
  check(definition: Carrier): void {
    const problem = this.problemIn(definition)
    if (!problem) return
    const { path, message, hint } = problem
    const detail = `${path.slice(1)} ${message}`
    throw new AppError('invalid_input', detail, { errors: [{ path, message }], hint })
  }

  problemIn(definition: Carrier): { path: string; message: string; hint: string } | undefined {
    const malformed = malformedIn(definition)
    if (malformed) {
      const message = 'contains a reference without a valid name or closing brace'
      const hint = `Write $\{env:NAME}, $\{env:NAME:-default} or $\{secret:NAME}, and $$\{ for the text $\{`
      return { path: malformed.path, message, hint }
    }
    const own = referencesIn(definition).find(
      ({ reference }) => reference.kind === 'env' && this.isOwnSetting(reference.name),
    )
    if (!own) return undefined
    const message = `refers to ${own.reference.name}, which is a setting of Toolroom`
    return { path: own.path, message, hint: 'Use a variable with another name, or a named secret' }
  }

  isOwnSetting(name: string): boolean {
    const upper = name.toUpperCase()
    return upper.startsWith('TOOLROOM_') || this.#deps.ownSettings.has(upper)
  }

  /**
   * The definition as it is used now. Its values are masked in log lines from now on. Nothing is resolved while a value is
   * not allowed to leave.
   */
  resolve<T extends Permitted>(serverId: string, definition: T): Resolved<T> {
    const { error } = notAllowed(definition)
    if (error) return { ok: false, error }
    const versions = new Map<string, number>()
    const values: string[] = []
    const result = resolveDefinition(definition, ({ kind, name }) => {
      if (kind === 'env') {
        const value = this.isOwnSetting(name) ? undefined : this.#deps.env[name]
        if (value !== undefined && !isPlainSetting(name, value)) values.push(value)
        return value
      }
      const secret = this.#deps.secretOf(name)
      if (secret === undefined) return undefined
      versions.set(name, secret.version)
      values.push(secret.value)
      return secret.value
    })
    if (values.length > 0) this.#mask(serverId, values)
    if ('missing' in result) return { ok: false, error: missingSetting(result.missing) }
    return { ok: true, definition: result.definition, versions }
  }

  /** Whether a secret was set or deleted since. */
  isOutdated(versions: SecretVersions): boolean {
    return [...versions].some(([name, version]) => this.#deps.secretOf(name)?.version !== version)
  }

  forget(serverId: string): void {
    this.#masked.delete(serverId)
    this.#deps.secrets.delete(owner(serverId))
  }

  #mask(serverId: string, values: readonly string[]): void {
    const masked = this.#masked.get(serverId) ?? new Set()
    if (values.every((value) => masked.has(value))) return
    for (const value of values) masked.add(value)
    this.#masked.set(serverId, masked)
    this.#deps.secrets.set(owner(serverId), [...masked])
  }
}

const owner = (serverId: string): string => `resolved:${serverId}`

function missingSetting({ label, reference }: PlacedReference): LastError {
  const { kind, name } = reference
  if (kind === 'secret') {
    const message = `The secret '${name}' is not set, but ${label} refers to it`
    return {
      code: 'missing_setting',
      message,
      hint: `Set the secret ${name}`,
      action: { kind: 'set_secret', name },
    }
  }
  const message = `The environment variable ${name} is not set for Toolroom, but ${label} refers to it`
  const hint = `Set ${name} in the environment from which Toolroom is started and restart Toolroom, or change ${label}`
  return { code: 'missing_setting', message, hint, action: { kind: 'set_environment', name } }
}
