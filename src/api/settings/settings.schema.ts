import type { Static, TSchema } from 'typebox'
import * as Type from 'typebox'
import { type SettingName, Settings } from '../../kernel/config/settings.ts'
import { component, listOf, orNull } from '../../kernel/rest-parts.ts'
import { boolean, closed, text } from '../../kernel/schema-fields.ts'

const SOURCES = ['flag', 'environment', 'env_file', 'config_file', 'generated', 'default'] as const

export const SettingView = Type.Object({
  key: text('The name in config.json', { examples: ['log_level'] }),
  env: text('The environment variable', { examples: ['LOG_LEVEL'] }),
  value: Type.Unknown({
    description: 'As it is set now. A secret that is set is `***`, a setting without a value is null',
    examples: ['info'],
  }),
  default: Type.Unknown({ description: 'Null without a default', examples: ['info'] }),
  source: Type.Enum(SOURCES, { description: 'Where the value comes from' }),
  restart_needed: boolean('The service still runs with another value, until it is restarted'),
  secret: Type.Boolean(),
})
export type SettingView = Static<typeof SettingView>
component({ Setting: SettingView }, 'A setting, and where its value comes from')
export const SettingList = listOf(SettingView)

/** Why these settings cannot be changed here. */
export const FIXED: Readonly<Partial<Record<SettingName, string>>> = {
  auth_token: 'is replaced with POST /api/token/rotate',
  toolroom_home: 'can be set only where the service is started: config.json is in that folder',
  toolroom_secret_key: 'can be set only where the service is started: it encrypts what is stored',
}

/** Null removes the setting from config.json. */
export const SettingsPatch = closed(
  Object.fromEntries(
    Object.entries(Settings.properties).map(([name, schema]) => [name, Type.Optional(inputOf(name, schema))]),
  ),
)
export type SettingsPatch = Readonly<Partial<Record<SettingName, unknown>>>
component({ SettingsPatch }, 'The settings to write to config.json; null removes one', {
  minProperties: 1,
  examples: [{ log_level: 'debug' }],
})

function inputOf(name: string, schema: TSchema): TSchema {
  const reason = FIXED[name as SettingName]
  if (reason !== undefined) return Type.Unknown({ description: `Refused: it ${reason}` })
  const { default: _, ...input } = schema as TSchema & { default?: unknown }
  return orNull(input as TSchema)
}

export const NewToken = Type.Object({
  token: text('Shown only here', { examples: ['fedcba9876543210'.repeat(4)] }),
})
component({ NewToken }, 'The new token')

export const Stopping = Type.Object({ status: Type.Literal('stopping') })
component({ Stopping }, 'The service is shutting down')
