import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeDurably } from '../../kernel/durable-file.ts'
import { revisionOf } from './config-text.ts'

/** One change of one file, with what stood there before. */
export interface Backup {
  readonly id: string
  readonly ts: number
  readonly agent_type: string
  readonly scope: string
  readonly path: string
  /** The file that the request was about; another one only where an agent keeps its switches elsewhere. */
  readonly main: string
  /** What all files that one request changed have in common. */
  readonly change: string
  /** `foreign_edit` is what another program wrote in the very moment of our own change. */
  readonly action: 'set' | 'remove' | 'undo' | 'foreign_edit'
  readonly names: readonly string[]
  /** Of the content before and after; null where there was no file. */
  readonly before: string | null
  readonly after: string | null
  readonly request_id: string | null
}

const KEPT = 20
const ID = /^\d{13}-[0-9a-f]{8}-[0-9a-f]{4}$/

/**
 * What stood in agents' files before we changed them, in our own folder: beside the file it would be found by agents
 * that restore `.bak` files, and by git. Everything about a change is on the disk before the change is.
 */
export class Backups {
  readonly #folder: string

  constructor(dataFolder: string) {
    this.#folder = join(dataFolder, 'backups', 'agents')
  }

  keep(facts: Omit<Backup, 'id' | 'before'>, content: Uint8Array | null): Backup {
    const digest = content === null ? revisionOf(Buffer.from(facts.path)) : revisionOf(content)
    const id = `${String(facts.ts).padStart(13, '0')}-${digest.slice(0, 8)}-${randomBytes(2).toString('hex')}`
    const backup: Backup = { id, ...facts, before: content === null ? null : digest }
    const folder = this.#folderOf(facts.agent_type, facts.path)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (content !== null) writeDurably(join(folder, `${id}.before`), content, 0o600)
    writeDurably(join(folder, `${id}.json`), JSON.stringify(backup), 0o600)
    this.#forgetOldest(folder)
    return backup
  }

  /** The change was not made after all. */
  discard({ agent_type, path, id }: Backup): void {
    for (const ending of ['json', 'before'])
      rmSync(join(this.#folderOf(agent_type, path), `${id}.${ending}`), { force: true })
  }

  /** Newest first. */
  of(agentType: string, path?: string): Backup[] {
    const folders = path === undefined ? this.#foldersOf(agentType) : [this.#folderOf(agentType, path)]
    return folders
      .flatMap((folder) => idsIn(folder).map((id) => readBackup(join(folder, `${id}.json`))))
      .filter((backup) => backup !== undefined)
      .sort((a, b) => (a.id < b.id ? 1 : -1))
  }

  /** Null when there was no file; undefined when the copy is lost or not what it was. */
  content({ agent_type, path, id, before }: Backup): Buffer | null | undefined {
    if (before === null) return null
    try {
      const bytes = readFileSync(join(this.#folderOf(agent_type, path), `${id}.before`))
      return revisionOf(bytes) === before ? bytes : undefined
    } catch {
      return undefined
    }
  }

  #folderOf(agentType: string, path: string): string {
    return join(this.#folder, agentType, revisionOf(Buffer.from(path)).slice(0, 16))
  }

  #foldersOf(agentType: string): string[] {
    const folder = join(this.#folder, agentType)
    return namesIn(folder).map((name) => join(folder, name))
  }

  #forgetOldest(folder: string): void {
    for (const id of idsIn(folder).sort().slice(0, -KEPT))
      for (const ending of ['before', 'json']) rmSync(join(folder, `${id}.${ending}`), { force: true })
  }
}

function idsIn(folder: string): string[] {
  return namesIn(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .filter((id) => ID.test(id))
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // nothing was ever changed there
  }
}

function readBackup(path: string): Backup | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Backup
  } catch {
    return undefined // one that is damaged must not hide the others
  }
}
