import { useSyncExternalStore } from 'react'
import type { Entry, FilePlan } from '../../data/agent-files.ts'
import { readDraft, writeDraft } from '../../data/browser/drafts.ts'
import { forgetSteps, remember } from '../../data/browser/undo-steps.ts'
import type { Cell, Column } from './grid-model.ts'

/** Changes that are not written yet. They are kept while other pages are looked at, and over a reload of the tab. */

/** What a cell shall become. `ours`: the entry differs, and gets the settings of the registered server. */
export type Staged = 'on' | 'off' | 'ours'

interface StagedFile {
  /** Of the file when the first change was staged. */
  readonly revision: string | null
  readonly cells: ReadonlyMap<string, Staged>
}
export type AllStaged = ReadonlyMap<string, StagedFile>

const DRAFT = 'staged'
type Stored = readonly (readonly [
  agentType: string,
  file: { readonly revision: string | null; readonly cells: readonly (readonly [string, Staged])[] },
])[]

let all: AllStaged = new Map(
  (readDraft<Stored>(DRAFT) ?? []).map(([agentType, { revision, cells }]) => [
    agentType,
    { revision, cells: new Map(cells) },
  ]),
)
const listeners = new Set<() => void>()

function change(next: AllStaged): void {
  all = next
  const stored: Stored = [...next].map(([agentType, { revision, cells }]) => [
    agentType,
    { revision, cells: [...cells] },
  ])
  // Other pages and a reload do not lose it. The end of the tab does.
  if (stored.length > 0) addEventListener('beforeunload', refuse)
  else removeEventListener('beforeunload', refuse)
  writeDraft(DRAFT, stored.length === 0 ? undefined : stored)
  for (const listener of listeners) listener()
}

const refuse = (event: Event) => event.preventDefault()

export const useStaged = (): AllStaged =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => all,
  )

/** Undefined takes the change back. */
export interface CellChange {
  readonly server: string
  readonly staged: Staged | undefined
}

export function stage({ agent, scope }: Column, changes: readonly CellChange[]): void {
  const before = all
  remember(() => change(before))
  const file = all.get(agent.agent_type)
  const cells = new Map(file?.cells)
  for (const { server, staged } of changes)
    if (staged === undefined) cells.delete(server)
    else cells.set(server, staged)
  const next = new Map(all)
  if (cells.size === 0) next.delete(agent.agent_type)
  else next.set(agent.agent_type, { revision: file ? file.revision : (scope?.revision ?? null), cells })
  change(next)
}

/** The next change of the cell: to the other state, or back to what the file says. */
export function toggled(cell: Cell): Staged | undefined {
  if (cell.isStaged) return undefined
  return cell.state === 'off' ? 'on' : 'off'
}

export function discard(agentType?: string): void {
  const next = new Map(all)
  if (agentType === undefined) next.clear()
  else next.delete(agentType)
  if (next.size === 0) forgetSteps() // they would stage again what is written or discarded
  change(next)
}

/** Discards everything. Returns what brings it back. */
export function discardAll(): () => void {
  const before = all
  discard()
  return remember(() => change(before))
}

/** The user has seen the file as it is now. */
export function accept(agentType: string, revision: string | null): void {
  const file = all.get(agentType)
  if (file) change(new Map(all).set(agentType, { ...file, revision }))
}

export const countOf = (staged: AllStaged): number =>
  [...staged.values()].reduce((sum, { cells }) => sum + cells.size, 0)

/** What is to be written into the file of a column. */
export function planOf(
  { agent, scope }: Column,
  { cells, revision }: StagedFile,
  cellFor: (server: string) => Cell,
): FilePlan {
  const changes = [...cells]
  const namesOf = (entries: readonly Entry[]) => [...new Set(entries.map(({ name }) => name))]
  const off = changes.flatMap(([server, staged]) => (staged === 'off' ? cellFor(server).entries : []))
  const replaced = changes.flatMap(([server, staged]) =>
    staged === 'off' ? [] : cellFor(server).entries.filter(({ name }) => name !== server),
  )
  return {
    agent_type: agent.agent_type,
    scope: scope?.scope ?? 'user',
    server_ids: changes.flatMap(([server, staged]) => (staged === 'off' ? [] : [server])),
    // What Toolroom wrote, it writes again; an entry of the user's own is kept as it is.
    remove: namesOf([...replaced, ...off.filter(({ managed }) => managed)]),
    disable: namesOf(off.filter(({ managed }) => !managed)),
    revision,
  }
}
