import { isObject } from '../../kernel/is-object.ts'

/** The defaults of the inputs that VS Code asks for, by id. Others have none. */
export function inputDefaults(inputs: unknown): ReadonlyMap<string, string> {
  const defaults = new Map<string, string>()
  for (const input of Array.isArray(inputs) ? inputs : []) {
    if (!isObject(input)) continue
    const { id, default: value } = input
    if (typeof id === 'string' && typeof value === 'string') defaults.set(id, value)
  }
  return defaults
}
