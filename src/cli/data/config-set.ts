import { parseSetting } from '../../kernel/config/config.ts'
import type { SettingName } from '../../kernel/config/settings.ts'
import type { Run } from '../run/context.ts'
import { usage } from '../run/failure.ts'
import { findNamed } from '../run/find-named.ts'
import { namedSettings, valueText } from './settings.ts'

/** `toolroom config set KEY VALUE` */
export const setSetting: Run = async ({ api, given }) => {
  const text = given.wordIfAny('VALUE')
  if ((text === undefined) === !given.is('default')) throw usage('Give a value, or --default', null)
  const { items } = await api.get('/api/settings')
  const {
    key,
    value: before,
    default: fallback,
    secret,
  } = findNamed(namedSettings(items), given.word('KEY'), 'setting')
  if (secret)
    throw usage(
      `${key} is a secret, which is never an argument`,
      key === 'auth_token' ? 'Use toolroom token rotate' : null,
    )
  const value = text === undefined ? null : parseSetting(key as SettingName, text)
  if (given.is('dry-run'))
    return {
      json: { dry_run: true, key, before, value: value ?? fallback },
      lines: [
        `Would change ${key} from ${valueText(before)} to ${valueText(value ?? fallback)}`,
        'Nothing was changed (--dry-run).',
      ],
    }
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
