import { join } from 'node:path'
import { parseSetting } from '../../kernel/config/config.ts'
import type { SettingName } from '../../kernel/config/settings.ts'
import { dryRun, type Run } from '../run/command-context.ts'
import { usage } from '../run/failure.ts'
import { findNamed } from '../run/find-named.ts'
import type { Schemas } from '../run/service-client.ts'

type Setting = Schemas['Setting']

/** `toolroom config get [KEY]` */
export const getSetting: Run = async ({ api, given }) => {
  const list = await api.get('/api/settings')
  const key = given.wordIfAny('KEY')
  if (key !== undefined) {
    const { id, name, ...setting } = findNamed(namedSettings(list.items), key, 'setting')
    return { json: setting, lines: [valueText(setting.value)] }
  }
  return {
    json: list,
    table: {
      head: ['KEY', 'VALUE', 'SOURCE'],
      rows: list.items.map(({ key, value, source, restart_needed }) => [
        key,
        valueText(value),
        `${source.replace('_', ' ')}${restart_needed ? ', after a restart' : ''}`,
      ]),
    },
    next: 'next: toolroom config set KEY VALUE, or toolroom help settings',
  }
}

/** `toolroom config set KEY VALUE` */
export const setSetting: Run = async ({ api, given }) => {
  const text = given.wordIfAny('VALUE')
  if ((text === undefined) === !given.is('default')) throw usage('Give a value, or --default', null)
  const { items } = await api.get('/api/settings')
  const setting = findNamed(namedSettings(items), given.word('KEY'), 'setting')
  const { key, value: before, default: fallback, secret } = setting
  if (secret)
    throw usage(
      `${key} is a secret, which is never an argument`,
      key === 'auth_token' ? 'Use toolroom token rotate' : null,
    )
  const value = text === undefined ? null : parseSetting(key as SettingName, text)
  if (given.is('dry-run'))
    return dryRun({ key, before, value: value ?? fallback }, [
      `Would change ${key} from ${valueText(before)} to ${valueText(value ?? fallback)}`,
    ])
  const changed = (await api.patch('/api/settings', { body: { [key]: value } })).items.find(
    (item) => item.key === key,
  )
  return {
    json: changed,
    lines: [
      `${key} is ${valueText(changed?.value ?? null)}${changed?.restart_needed ? ' after a restart of the service' : ''}`,
    ],
    next: changed?.restart_needed ? 'next: toolroom down, then toolroom up' : undefined,
  }
}

/** `toolroom config path` */
export const showPaths: Run = async ({ config }) => {
  const { data, config: keys } = config.folders
  const paths = { config_file: join(data, 'config.json'), data_folder: data, secret_key_folder: keys }
  return {
    json: paths,
    table: {
      rows: [
        ['Settings', paths.config_file],
        ['Data', data],
        ['Secret key', keys],
      ],
    },
  }
}

/** A setting is named by its key or by its environment variable. */
const namedSettings = (items: readonly Setting[]) =>
  items.map((setting) => ({ ...setting, id: setting.key, name: setting.env }))

function valueText(value: unknown): string {
  const text = Array.isArray(value) ? value.join(',') : String(value ?? '')
  return text === '' ? '-' : text
}
