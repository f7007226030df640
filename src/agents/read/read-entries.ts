import { statSync } from 'node:fs'
import { AppError } from '../../kernel/errors.ts'
import type { ConfigFile, ConfigTarget } from '../catalogue/agent-catalogue.ts'
import type { Agent } from '../catalogue/agent-record.ts'
import { switchOf } from '../catalogue/enable-switch.ts'
import { isList, isMap, isSame, type Json, type Path, type Step, valueAt } from '../catalogue/json-value.ts'
import { readEntry } from '../catalogue/read-entry.ts'
import type { Definition } from '../catalogue/server-definition.ts'
import { fileOf, pathsOf, rootOf } from '../files/config-target.ts'
import { type Content, isWritableFile, readConfig } from '../files/read-config.ts'
import { formatOf, readText } from '../formats/apply-operations.ts'
import type { Position } from '../formats/format.ts'

/** One entry of a file. */
export interface Entry {
  readonly name: string
  readonly path: Path
  readonly value: Json
  readonly definition: Definition | null
  readonly enabled: boolean | null
  readonly problem: string | null
}

/** The current state of one file of one agent. */
export interface FileState {
  readonly config: ConfigFile
  readonly content: Content | undefined
  /** The parsed file. */
  readonly root: Json | undefined
  readonly entries: readonly Entry[]
  readonly parseError: (Position & { readonly message: string }) | null
  /** Why the file is not used, for reasons other than a parse error. */
  readonly problem: string | null
  readonly writable: boolean
}

/** Never throws: an unreadable file is reported in the state. */
export function readFileState(target: ConfigTarget): FileState {
  const nothing = { content: undefined, root: undefined, entries: [], parseError: null, problem: null }
  const state = { config: target.config, writable: isWritable(target), ...nothing }
  let content: Content | undefined
  try {
    content = readConfig(fileOf(target))
    if (!content) return state
    return { ...state, content, ...readEntries(target, content.text) }
  } catch (error) {
    return { ...state, content, ...problemOf(error) }
  }
}

function problemOf(error: unknown): Pick<FileState, 'parseError' | 'problem'> {
  if (!(error instanceof AppError)) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    return { parseError: null, problem: `Cannot read the file: ${code}` }
  }
  const { line, column } = (error.members ?? {}) as Partial<Position>
  if (line === undefined || column === undefined) return { parseError: null, problem: error.message }
  return { parseError: { line, column, message: error.message }, problem: null }
}

/** More than any user has. What is done for each entry stays small. */
const MAX_ENTRIES = 1000

/** The parsed file and the entries in it. */
export function readEntries(
  target: ConfigTarget,
  text: string,
): { readonly root: Json | undefined; readonly entries: readonly Entry[] } {
  const { agent, config } = target
  const root = readText(formatOf(config.format, config.dialect), config.path, text)
  const isListedOff = disabledList(target, root)
  const entries = entriesUnder(agent, config, root).map((entry) => {
    const isOff = isListedOff(entry.name)
    return isOff === undefined ? entry : { ...entry, enabled: !isOff }
  })
  return { root, entries }
}

/** The entries in a parsed file. Whether the agent lists one as disabled elsewhere is not considered. */
export function entriesUnder(agent: Agent, config: ConfigFile, root: Json | undefined): Entry[] {
  const containers = containersIn(agent, config, root).map((at) => ({
    at,
    members: membersOf(valueAt(root, at), config),
  }))
  if (containers.reduce((sum, { members }) => sum + members.length, 0) > MAX_ENTRIES)
    throw new AppError(
      'config_too_large',
      `${config.path} has more than ${MAX_ENTRIES} servers; it is neither read nor edited`,
    )
  return containers.flatMap(({ at, members }) =>
    members.flatMap(([name, value]): Entry[] => {
      const { definition, enabled, problem } = readEntry(agent, name, value)
      // Not a tool server.
      if (definition === null && (problem === null || at.length < config.keyPath.length)) return []
      const path = [...at, stepTo(config, name)]
      return [{ name, path, value, definition, enabled, problem }]
    }),
  )
}

/** Not part of `readEntries`, because it parses the file again: once for all entries. */
function linesOf({ config, entries }: Pick<FileState, 'config' | 'entries'>, text = ''): SeenFile['lines'] {
  if (entries.length === 0) return new Map()
  const lineOf = formatOf(config.format, config.dialect).lines(text)
  return new Map(entries.map((entry) => [entry, lineOf(entry.path) ?? null]))
}

/** The key paths under which this file holds entries. */
export function containersIn(agent: Agent, config: ConfigFile, root: Json | undefined): string[][] {
  const isAgentsPath = config.keyPath.join('\0') === agent.keyPath.join('\0')
  const paths = [config.keyPath, ...(isAgentsPath ? agent.keyPathAlternatives : [])]
  const found = paths.filter((at) => at.length > 0 && isContainer(valueAt(root, at), config))
  if (found.length === 0 && paths.some((at) => at.length === 0) && isMap(root)) return [[]]
  return found.map((at) => [...at])
}

/** The step from the container to an entry. */
export const stepTo = ({ nameField }: ConfigFile, name: string): Step =>
  nameField === null ? name : { field: nameField, is: name }

const isContainer = (value: Json | undefined, { nameField }: ConfigFile): boolean =>
  nameField === null ? isMap(value) : isList(value)

function membersOf(container: Json | undefined, { nameField }: ConfigFile): [string, Json][] {
  if (nameField === null) return isMap(container) ? Object.entries(container) : []
  if (!isList(container)) return []
  return container.flatMap((item): [string, Json][] => {
    const name = isMap(item) ? item[nameField] : undefined
    return typeof name === 'string' ? [[name, item]] : []
  })
}

/**
 * Returns whether the agent's list of disabled servers holds a name; undefined if the agent has no such list. A list
 * in another file is read once.
 */
function disabledList(target: ConfigTarget, root: Json | undefined): (name: string) => boolean | undefined {
  const { agent, config } = target
  const { kind } = agent.disabled
  if (kind !== 'external-list' && kind !== 'external-map' && kind !== 'list-in-file') return () => undefined
  let other: { path: string; root: Json | undefined } | undefined
  return (name) => {
    const off = switchOf(target, name, false)
    if (off.kind !== 'elsewhere') return false
    if (off.path !== config.path && other?.path !== off.path)
      other = { path: off.path, root: parsedFile(target, off) }
    const found = valueAt(off.path === config.path ? root : other?.root, off.at)
    return isSame(found, off.value)
  }
}

function parsedFile(
  target: ConfigTarget,
  { path, format, dialect }: { path: string } & Pick<ConfigFile, 'format' | 'dialect'>,
): Json | undefined {
  try {
    const content = readConfig({ path, root: rootOf(target) })
    return content && readText(formatOf(format, dialect), path, content.text)
  } catch {
    return undefined // an unreadable list disables nothing
  }
}

/** What lists show of a file. Its text is not kept: that of one agent grows to several MiB. */
export interface SeenFile
  extends Pick<FileState, 'config' | 'entries' | 'parseError' | 'problem' | 'writable'> {
  readonly content: Pick<Content, 'revision'> | undefined
  /** The lines where the entries begin. */
  readonly lines: ReadonlyMap<Entry, number | null>
}

/** A file that was modified within this time is read again: a second change might have the same time. */
const RECENT_MS = 2_000

/** Reads files, and reads them again only when they have changed. */
export class SeenFiles {
  readonly #kept = new Map<string, { readonly signature: string; readonly file: SeenFile }>()

  of(target: ConfigTarget): SeenFile {
    const key = keyOf(target)
    const signature = signatureOf(pathsOf(target))
    const kept = this.#kept.get(key)
    if (kept && kept.signature === signature) return { ...kept.file, writable: isWritable(target) }
    const { root: _, content, ...state } = readFileState(target)
    const lines = linesOf(state, content?.text)
    const file = { ...state, content: content && { revision: content.revision }, lines }
    if (signature === undefined) this.#kept.delete(key)
    else this.#kept.set(key, { signature, file })
    return file
  }
}

const keyOf = ({ agent, config, project }: ConfigTarget): string =>
  JSON.stringify([agent.type, config.scope, config.path, config.keyPath, project])

const isWritable = (target: ConfigTarget): boolean =>
  !target.config.readOnly && target.config.ambiguous.length === 0 && isWritableFile(fileOf(target))

/** Changes with the content of any of these files. Undefined if it might not. */
function signatureOf(paths: readonly string[]): string | undefined {
  const parts: string[] = []
  for (const path of paths) {
    try {
      const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
      if (!stats) parts.push('none')
      else {
        const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs, ctimeMs } = stats
        const isRecent = [mtimeMs, ctimeMs].some((time) => Math.abs(Date.now() - Number(time)) < RECENT_MS)
        if (isRecent) return undefined
        parts.push([dev, ino, size, mtimeNs, ctimeNs].join(':'))
      }
    } catch {
      return undefined // it cannot be read, and the reason may change
    }
  }
  return parts.join(' ')
}
