import type { Schemas } from '../run/service-client.ts'

export type Setting = Schemas['Setting']

/** A setting is named by its key or by its environment variable. */
export const namedSettings = (items: readonly Setting[]) =>
  items.map((setting) => ({ ...setting, id: setting.key, name: setting.env }))

export function valueText(value: unknown): string {
  const text = Array.isArray(value) ? value.join(',') : String(value ?? '')
  return text === '' ? '-' : text
}
