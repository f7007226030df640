import type { TSchema } from 'typebox'
import { assertMayBind, newToken, saveToken, tokenFile } from '../../kernel/config/auth-token.ts'
import { bindOf } from '../../kernel/config/bind-address.ts'
import type { Config, Origin } from '../../kernel/config/config.ts'
import { changedConfig, readConfigFile } from '../../kernel/config/config-file.ts'
import {
  envName,
  type RunningSettings,
  SETTING_NAMES,
  type SettingName,
  Settings,
} from '../../kernel/config/settings.ts'
import { AppError, diskFull, invalidField } from '../../kernel/errors.ts'
import { isStartError } from '../../kernel/exit-codes.ts'
import type { AuditEntry } from '../../kernel/fact-bus.ts'
import { writeDurably } from '../../kernel/files/durable-file.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import { MASK } from '../../kernel/secrets/mask-secrets.ts'
import { FIXED, type SettingsPatch, type SettingView } from './settings.schema.ts'

export interface Deps {
  readonly config: Pick<Config, 'folders' | 'origins'>
  readonly running: RunningSettings
  /** `config.json` in the data folder. */
  readonly file: string
  readonly audit: (entry: AuditEntry) => Promise<void>
  /** The token has been replaced. */
  readonly onToken: (token: string) => void
  /** Ends the service as SIGTERM does. */
  readonly shutDown: () => void
}

type InFile = ReadonlyMap<SettingName, unknown>

/** The settings of the running service, and what concerns the service as a whole. */
export function createSettings({ config, running, file, audit, onToken, shutDown }: Deps) {
  /** Where a value comes from that wins over config.json. */
  const winner = (name: SettingName) => {
    const origin = config.origins.get(name)
    return origin?.source === 'config_file' ? undefined : origin
  }

  function view(name: SettingName, inFile: InFile): SettingView {
    const { default: fallback = null, secret = false } = schemaOf(name)
    const won = winner(name)
    const value = won ? running.get(name) : (inFile.get(name) ?? fallback)
    const shown = name === 'toolroom_home' ? config.folders.data : value
    const isGenerated = name === 'auth_token' && value === null
    const unwon = inFile.has(name) ? 'config_file' : isGenerated ? 'generated' : 'default'
    return {
      key: name,
      env: envName(name),
      value: !secret ? shown : value !== null || isGenerated ? MASK : null,
      default: fallback,
      source: won?.source ?? unwon,
      restart_needed: !won && JSON.stringify(value) !== JSON.stringify(running.get(name) ?? null),
      secret,
    }
  }

  const save = (changes: InFile) => writeDurably(file, changedConfig(file, changes), 0o600)

  function list(): SettingView[] {
    const inFile = orProblem(() => readConfigFile(file))
    return SETTING_NAMES.map((name) => view(name, inFile))
  }

  function refuseElsewhere(name: SettingName): void {
    const won = winner(name)
    if (!won) return
    throw new AppError(
      'set_elsewhere',
      `${name} is set by ${placeOf(won)}, which takes precedence over config.json`,
      {
        hint: 'Change it there, or remove it there and restart Toolroom',
      },
    )
  }

  return {
    list,

    /** All changes or none. */
    async change(patch: SettingsPatch, by: Caller): Promise<SettingView[]> {
      const entries = Object.entries(patch) as [SettingName, unknown][]
      for (const [name] of entries) {
        const fixed = FIXED[name]
        if (fixed !== undefined) throw invalidField(`/${name}`, fixed)
        refuseElsewhere(name)
      }
      const changes = new Map(entries.map(([name, value]) => [name, value ?? undefined]))
      refuseOpenHost(
        changes,
        orProblem(() => readConfigFile(file)),
      )
      await audit({ action: 'settings_changed', subject: 'config.json', ...by, detail: { ...patch } })
      orProblem(() => save(changes))
      for (const [name, value] of changes) running.change(name, value ?? schemaOf(name).default)
      return list()
    },

    /** A new random token. The old one stops working at once. */
    async rotateToken(by: Caller): Promise<string> {
      refuseElsewhere('auth_token')
      const token = newToken()
      const isInFile = orProblem(() => readConfigFile(file)).has('auth_token')
      // First: if it failed afterwards, the caller would get an error instead of the token that is valid now.
      await audit({ action: 'token_rotated', subject: 'AUTH_TOKEN', ...by, detail: {} })
      orProblem(() => {
        if (isInFile) save(new Map([['auth_token', token]]))
        else saveToken(tokenFile(config.folders.data), token)
      })
      if (isInFile) running.change('auth_token', token)
      onToken(token)
      return token
    },

    async announceShutdown(by: Caller): Promise<void> {
      await audit({ action: 'shutdown', subject: 'service', ...by, detail: {} })
    },
    shutDown,
  }

  /** The next start would refuse a host on the network without a strong token. */
  function refuseOpenHost(changes: ReadonlyMap<SettingName, unknown>, inFile: InFile): void {
    const host = changes.get('host')
    if (typeof host !== 'string') return
    const token = winner('auth_token') ? running.get('auth_token') : inFile.get('auth_token')
    try {
      assertMayBind(bindOf(host), host, token as string | undefined)
    } catch (error) {
      if (!isStartError(error)) throw error
      throw new AppError('invalid_input', error.message, {
        errors: [{ path: '/host', message: error.message }],
      })
    }
  }
}
export type SettingsRoom = ReturnType<typeof createSettings>

const schemaOf = (name: SettingName): TSchema & { default?: unknown; secret?: boolean } =>
  Settings.properties[name]

function placeOf({ source, from }: Origin): string {
  if (source === 'flag') return `the flag ${from}`
  return source === 'environment' ? `the environment variable ${from}` : from
}

/** Translates the errors of config.json. */
function orProblem<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (isStartError(error)) throw new AppError('config_unparsable', error.message, { cause: error })
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOSPC' || code === 'EDQUOT')
      throw diskFull('The disk is full, so nothing was changed', error)
    throw error
  }
}
