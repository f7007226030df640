import type { Preset } from '../gateway/presets/presets.schema.ts'
import type { PresetStore } from '../gateway/presets/presets.service.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'

/** Named choices of servers and tools. Read once, then answered from memory. */
export async function openPresetStore(database: ConfigurationDatabase): Promise<PresetStore> {
  const presets = new Map<string, Preset>()
  for (const { name, body } of await database.db.selectFrom('presets').selectAll().execute()) {
    try {
      presets.set(name, JSON.parse(body) as Preset)
    } catch {
      throw await database.refuse(`the preset '${name}' cannot be read`)
    }
  }
  return {
    all: () => presets,
    save: (name, preset, audit) =>
      database.put('presets', { name, body: JSON.stringify(preset) }, audit, {
        committed: () => presets.set(name, preset),
      }),
    remove: (name, audit) => database.delete('presets', ['name', name], audit, () => presets.delete(name)),
  }
}
