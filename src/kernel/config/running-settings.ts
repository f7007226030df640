import type { SettingName, Settings } from './schema.ts'

/** Settings that take effect at once when they are changed. All others need a restart. */
const LIVE: readonly SettingName[] = ['auth_token', 'log_level', 'min_release_age_days', 'mcp_registry_url']

/** The settings that the service runs with. */
export class RunningSettings {
  #values: Readonly<Settings>
  readonly #onChange: (values: Readonly<Settings>) => void

  constructor(values: Readonly<Settings>, onChange: (values: Readonly<Settings>) => void) {
    this.#values = values
    this.#onChange = onChange
  }

  get<N extends SettingName>(name: N): Settings[N] {
    return this.#values[name]
  }

  /** The value must be valid. */
  change(name: SettingName, value: unknown): void {
    if (!LIVE.includes(name)) return
    this.#values = { ...this.#values, [name]: value }
    this.#onChange(this.#values)
  }
}
