import { type ConfigTarget, fileAt, withProject } from './agent-catalogue.ts'
import type { Agent, Dialect, FileFormat } from './agent-record.ts'
import { isSame, type Json, type Path } from './json-value.ts'
import { keyOf } from './write-entry.ts'

/** How an entry is enabled or disabled. An undefined value removes the field or the list item. */
export type Switch =
  | { readonly kind: 'in_entry'; readonly field: string; readonly value: Json | undefined }
  | {
      readonly kind: 'elsewhere'
      readonly path: string
      readonly format: FileFormat
      readonly dialect: Dialect
      readonly at: Path
      readonly value: Json | undefined
    }
  | { readonly kind: 'none'; readonly reason: string }

type Kinds = Agent['disabled']
type Flag = Extract<Kinds, { kind: 'entry-flag' }>
type External = Extract<Kinds, { paths: unknown }>

export function switchOf(target: ConfigTarget, name: string, enabled: boolean): Switch {
  const { agent, config } = target
  const { disabled } = agent
  switch (disabled.kind) {
    case 'entry-flag':
      return config.readOnly ? readOnly(agent) : inEntry(target, disabled, enabled)
    case 'external-list':
    case 'external-map':
      return elsewhere(target, disabled, name, enabled)
    case 'list-in-file': {
      if (config.readOnly) return readOnly(agent)
      const { path, format, dialect } = config
      const key = keyOf(agent, name)
      const at = [...disabled.keyPath, { item: key }]
      return { kind: 'elsewhere', path, format, dialect, at, value: enabled ? undefined : key }
    }
    case 'ui-state':
    case 'unknown':
    case 'none':
      return { kind: 'none', reason: disabled.reason }
  }
}

/** To enable an entry the flag is removed, so that the entry is as before, unless this agent always writes the flag. */
function inEntry({ agent, config }: ConfigTarget, disabled: Flag, enabled: boolean): Switch {
  const other = disabled.elsewhere.find((each) => isSame(each.keyPath, config.keyPath))
  const { field, value } = other ?? disabled
  const always = [agent.stdio, agent.http, agent.sse].some((each) => each && Object.hasOwn(each.entry, field))
  return { kind: 'in_entry', field, value: enabled ? (always ? !value : undefined) : value }
}

function elsewhere(
  { agent, config, platform, project }: ConfigTarget,
  disabled: External,
  name: string,
  enabled: boolean,
): Switch {
  const ofScope = (disabled.ofScopes as Readonly<Record<string, string[]>>)[config.scope]
  const keyPath = withProject(ofScope ?? disabled.keyPath, platform, project)
  if (!keyPath) {
    return { kind: 'none', reason: `${agent.name} disables servers per project. Send project_path` }
  }
  const file = fileAt(disabled, platform, project)
  if (!file)
    return { kind: 'none', reason: `${agent.name} has no file for disabled servers on this computer` }
  const key = disabled.nameRule === 'lower-case' ? name.toLowerCase() : keyOf(agent, name)
  const isList = disabled.kind === 'external-list'
  const { format, dialect } = disabled
  const at = [...keyPath, isList ? { item: key } : key]
  const off = isList ? key : disabled.value
  return { kind: 'elsewhere', path: file.path, format, dialect, at, value: enabled ? undefined : off }
}

function readOnly(agent: Agent): Switch {
  return { kind: 'none', reason: `${agent.name} only reads this file, so Toolroom does not change it` }
}
