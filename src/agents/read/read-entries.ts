import { AppError } from '../../kernel/errors.ts'
import type { Agent } from '../catalogue/catalogue.schema.ts'
import type { ConfigPlace, Platform } from '../catalogue/config-places.ts'
import type { Definition } from '../catalogue/definition.ts'
import { switchOf } from '../catalogue/enable-switch.ts'
import { readEntry } from '../catalogue/read-entry.ts'
import { formatOf, readText } from '../edit/apply-operations.ts'
import { readConfig } from '../files/config-file.ts'
import type { Content } from '../files/config-text.ts'
import { isWritableTarget } from '../files/file-safety.ts'
import type { Json, Path, Place } from '../formats/format.ts'
import { isList, isMap, isSame, valueAt } from '../formats/json-value.ts'

/** One entry as it stands in a file. */
export interface Entry {
  readonly name: string
  readonly path: Path
  readonly value: Json
  readonly definition: Definition | null
  readonly enabled: boolean | null
  readonly problem: string | null
}

/** One file of one agent as it is now. */
export interface PlaceState {
  readonly place: ConfigPlace
  readonly content: Content | undefined
  readonly entries: readonly Entry[]
  readonly parseError: (Place & { readonly message: string }) | null
  /** Why it is left alone, when it could be read. */
  readonly problem: string | null
  readonly writable: boolean
}

export interface Where {
  readonly agent: Agent
  readonly place: ConfigPlace
  readonly platform: Platform
  readonly project: string | undefined
}

/** The home, or the project: no link in it may lead out of it. */
export const rootOf = ({ place, platform, project }: Where): string =>
  project !== undefined && place.path.startsWith(project) ? project : platform.home

/** Never throws: what is wrong with a file is part of what there is to say about it. */
export function readPlace(where: Where): PlaceState {
  const { place } = where
  const root = rootOf(where)
  const writable = !place.readOnly && place.ambiguous.length === 0 && isWritableTarget(place.path, root)
  const state = { place, writable, content: undefined, entries: [], parseError: null, problem: null }
  let content: Content | undefined
  try {
    content = readConfig({ path: place.path, root })
    if (!content) return state
    return { ...state, content, entries: entriesIn(where, content.text) }
  } catch (error) {
    return { ...state, content, ...troubleOf(error) }
  }
}

function troubleOf(error: unknown): Pick<PlaceState, 'parseError' | 'problem'> {
  if (!(error instanceof AppError)) {
    const code = (error as NodeJS.ErrnoException).code ?? 'an unknown reason'
    return { parseError: null, problem: `It cannot be read: ${code}` }
  }
  const { line, column } = (error.members ?? {}) as Partial<Place>
  if (line === undefined || column === undefined) return { parseError: null, problem: error.message }
  return { parseError: { line, column, message: error.message }, problem: null }
}

export function entriesIn(where: Where, text: string): Entry[] {
  const { agent, place } = where
  const format = formatOf(place.format, place.dialect)
  const root = readText(format, place.path, text)
  const off = switchedOff(where, root)
  return containersIn(agent, place, root).flatMap((at) =>
    membersOf(valueAt(root, at), place).flatMap(([name, value]): Entry[] => {
      const { definition, enabled, problem } = readEntry(agent, name, value)
      if (definition === null && (problem === null || at.length < place.keyPath.length)) return [] // no tool server
      const path = [...at, place.nameField === null ? name : { field: place.nameField, is: name }]
      return [{ name, path, value, definition, enabled: isOn(off(name), enabled), problem }]
    }),
  )
}

const isOn = (isOff: boolean | undefined, enabled: boolean | null): boolean | null =>
  isOff === undefined ? enabled : !isOff

/** Where an entry begins. Apart from the reading, because it takes another look at the whole file. */
export function lineOf({ place, content }: PlaceState, { path }: Entry): number | null {
  if (!content) return null
  return formatOf(place.format, place.dialect).find(content.text, path)?.line ?? null
}

/** Where the agent looks for entries, and there is something. */
export function containersIn(agent: Agent, place: ConfigPlace, root: Json | undefined): string[][] {
  const own = [place.keyPath, ...(isOwn(agent, place) ? agent.keyPathAlternatives : [])]
  const found = own.filter((at) => at.length > 0 && hasMembers(valueAt(root, at), place))
  if (found.length === 0 && own.some((at) => at.length === 0) && isMap(root)) return [[]]
  return found.map((at) => [...at])
}

const isOwn = (agent: Agent, place: ConfigPlace): boolean =>
  place.keyPath.join('\0') === agent.keyPath.join('\0')

const hasMembers = (value: Json | undefined, { nameField }: ConfigPlace): boolean =>
  nameField === null ? isMap(value) : isList(value)

function membersOf(container: Json | undefined, { nameField }: ConfigPlace): [string, Json][] {
  if (nameField === null) return isMap(container) ? Object.entries(container) : []
  if (!isList(container)) return []
  return container.flatMap((item): [string, Json][] => {
    const name = isMap(item) ? item[nameField] : undefined
    return typeof name === 'string' ? [[name, item]] : []
  })
}

/** Says of a name whether the agent's list of servers that are off names it, if it has one. Reads that list once. */
function switchedOff(where: Where, root: Json | undefined): (name: string) => boolean | undefined {
  const { agent, place, platform, project } = where
  const { kind } = agent.disabled
  if (kind !== 'external-list' && kind !== 'external-map' && kind !== 'list-in-file') return () => undefined
  let other: { path: string; root: Json | undefined } | undefined
  return (name) => {
    const off = switchOf(agent, place, name, false, platform, project)
    if (off.kind !== 'elsewhere') return false
    if (off.path !== place.path && other?.path !== off.path)
      other = { path: off.path, root: rootAt(where, off) }
    const found = valueAt(off.path === place.path ? root : other?.root, off.at)
    return isSame(found, off.value)
  }
}

function rootAt(
  where: Where,
  off: { path: string } & Pick<ConfigPlace, 'format' | 'dialect'>,
): Json | undefined {
  try {
    const content = readConfig({ path: off.path, root: rootOf(where) })
    return content && readText(formatOf(off.format, off.dialect), off.path, content.text)
  } catch {
    return undefined // what cannot be read switches nothing off
  }
}
