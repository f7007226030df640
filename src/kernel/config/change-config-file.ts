import { writeDurably } from '../files/durable-file.ts'
import { contentOf, nameOf, readConfigFile } from './config-file.ts'
import type { SettingName } from './schema.ts'

/** Changes some settings durably and keeps the others, with the spelling of their keys. Undefined removes one. */
export function changeConfigFile(path: string, changes: ReadonlyMap<SettingName, unknown>): void {
  readConfigFile(path) // a file that would stop the next start is not rewritten
  const content = contentOf(path)
  for (const [name, value] of changes) {
    const key = Object.keys(content).find((each) => nameOf(each) === name) ?? name
    if (value === undefined) delete content[key]
    else content[key] = value
  }
  writeDurably(path, `${JSON.stringify(content, null, 2)}\n`, 0o600)
}
