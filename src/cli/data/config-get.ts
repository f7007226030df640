import type { Run } from '../run/context.ts'
import { findNamed } from '../run/find-named.ts'
import { namedSettings, valueText } from './settings.ts'

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
