import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder, writeDurably } from '../../kernel/files/durable-file.ts'
import { revisionOf } from '../formats/text-edits.ts'
import type { Chosen, TakenOver } from './ownership-store.ts'

/** One change of one file, with the content before it. */
export interface Backup {
  readonly id: string
  readonly ts: number
  readonly agent_type: string
  readonly scope: string
  readonly path: string
  /** The file that the request named. It differs from `path` where an agent keeps its switches in another file. */
  readonly main: string
  /** The same for all files that one request changed. */
  readonly change: string
  /** `foreign_edit` is content that another program wrote during our own change. */
  readonly action: 'set' | 'remove' | 'undo' | 'restore' | 'foreign_edit'
  readonly names: readonly string[]
  /** Revision of the content before; null if there was no file. */
  readonly before: string | null
  /** Revision of the content after; null if the file was removed. */
  readonly after: string | null
  readonly request_id: string | null
  /** Only Toolroom wrote to the file from its first backup to this one. Missing in earlier versions. */
  readonly unbroken?: boolean
  /** The entries that were parked before, for the file that the request named. Missing in earlier versions. */
  readonly taken_over?: TakenOver | null
  /** What was remembered of the agent's choice before, for the file that the request named. */
  readonly connected?: Chosen | null
  /** What the change did to the servers that the agent sees at the gateway. */
  readonly chosen?: Chosen | null
  /** What happened to each entry. Missing in earlier versions. */
  readonly changes?: readonly EntryChange[]
}

export const ENTRY_CHANGES = [
  'added',
  'changed',
  'removed',
  'switched_off',
  'switched_on',
  'taken_over',
  'brought_back',
] as const

export interface EntryChange {
  readonly name: string
  readonly what: (typeof ENTRY_CHANGES)[number]
}

/** Besides the first one, which has the file from before Toolroom. */
const KEPT = 20
const ID = /^\d{13}-[0-9a-f]{8}-[0-9a-f]{4}$/

/**
 * The contents of agents' files before our changes. They are kept in the data folder: beside the file, agents that
 * restore `.bak` files would find them, and so would git. A backup is on the disk before the change is made.
 */
export class Backups {
  readonly #folder: string

  constructor(dataFolder: string) {
    this.#folder = join(dataFolder, 'backups', 'agents')
  }

  keep(facts: Omit<Backup, 'id' | 'before' | 'unbroken'>, content: Uint8Array | null): Backup {
    const digest = content === null ? revisionOf(Buffer.from(facts.path)) : revisionOf(content)
    const order = String(this.#nextOrder(facts)).padStart(13, '0')
    const id = `${order}-${digest.slice(0, 8)}-${randomBytes(2).toString('hex')}`
    const before = content === null ? null : digest
    const folder = this.#folderOf(facts.agent_type, facts.path)
    const last = idsIn(folder).sort().at(-1)
    const previous = last === undefined ? undefined : readBackup(join(folder, `${last}.json`))
    const isNext = last === undefined || (previous?.unbroken === true && previous.after === before)
    const unbroken = isNext && facts.action !== 'foreign_edit'
    const backup: Backup = { id, ...facts, before, unbroken }
    makeFolder(folder)
    try {
      if (content !== null) writeDurably(join(folder, `${id}.before`), content, 0o600)
      writeDurably(join(folder, `${id}.json`), JSON.stringify(backup), 0o600)
    } catch (error) {
      remove(folder, id)
      throw error
    }
    for (const old of idsIn(folder).sort().slice(1, -KEPT)) remove(folder, old)
    return backup
  }

  /** For a change that was not made after all. */
  discard({ agent_type, path, id }: Backup): void {
    remove(this.#folderOf(agent_type, path), id)
  }

  /** Newest first. The last one has the content from before Toolroom. */
  ofFile(agentType: string, path: string): Backup[] {
    return this.of(agentType).filter((backup) => backup.path === path)
  }

  /** Newest first. */
  of(agentType: string): Backup[] {
    return this.#foldersOf(agentType)
      .flatMap((each) => idsIn(each).map((id) => readBackup(join(each, `${id}.json`))))
      .filter((backup) => backup !== undefined)
      .sort((a, b) => (a.id < b.id ? 1 : -1))
  }

  /** Null if there was no file; undefined if the copy is missing or damaged. */
  content({ agent_type, path, id, before }: Backup): Buffer | null | undefined {
    if (before === null) return null
    try {
      const bytes = readFileSync(join(this.#folderOf(agent_type, path), `${id}.before`))
      return revisionOf(bytes) === before ? bytes : undefined
    } catch {
      return undefined
    }
  }

  /** The length of the content; null if there was no file. */
  sizeOf({ agent_type, path, id, before }: Backup): number | null {
    const file = join(this.#folderOf(agent_type, path), `${id}.before`)
    return before === null ? null : (statSync(file, { throwIfNoEntry: false })?.size ?? null)
  }

  /** The time, but never before that of an older backup: the clock may have been set back. */
  #nextOrder({ agent_type, ts }: Pick<Backup, 'agent_type' | 'ts'>): number {
    const ids = this.#foldersOf(agent_type).flatMap(idsIn)
    return ids.reduce((order, id) => Math.max(order, Number(id.slice(0, 13)) + 1), ts)
  }

  #foldersOf(agentType: string): string[] {
    const folder = join(this.#folder, agentType)
    return namesIn(folder).map((name) => join(folder, name))
  }

  #folderOf(agentType: string, path: string): string {
    return join(this.#folder, agentType, revisionOf(Buffer.from(path)).slice(0, 16))
  }
}

function remove(folder: string, id: string): void {
  for (const ending of ['json', 'before']) rmSync(join(folder, `${id}.${ending}`), { force: true })
}

function idsIn(folder: string): string[] {
  return namesIn(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .filter((id) => ID.test(id))
}

function readBackup(path: string): Backup | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Backup
  } catch {
    return undefined // a damaged backup must not hide the others
  }
}

/** The names in a folder; none if it does not exist or cannot be read. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
