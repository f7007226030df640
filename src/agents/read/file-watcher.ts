import { type FSWatcher, watch } from 'node:fs'
import type { FactBus } from '../../kernel/fact-bus.ts'
import type { ConfigTarget } from '../catalogue/agent-catalogue.ts'
import { fileOf } from '../files/config-target.ts'
import { type Content, nearestFolder, readConfig } from '../files/read-config.ts'
import { driftOf, type KnownFile } from './drift.ts'
import { readFileState } from './read-entries.ts'

interface Deps {
  readonly facts: FactBus
  /** The files to watch now. */
  readonly targets: () => readonly ConfigTarget[]
  readonly recordOf: (target: ConfigTarget) => KnownFile['record']
  /** Called with each content that is read. */
  readonly onContent: (path: string, content: Content) => void
  readonly onTrouble: (folder: string, error: unknown) => void
}

const DEBOUNCE_MS = 100
const MAX_FOLDERS = 256

/**
 * Publishes a fact when another program changes an agent's file. It repairs nothing. It watches folders instead of
 * files, because a program that replaces a file gives it a new inode. Where the folder does not exist yet, the
 * nearest existing folder above it is watched.
 */
export class FileWatcher {
  readonly #deps: Deps
  readonly #watchers = new Map<string, FSWatcher>()
  readonly #revisions = new Map<string, string>()
  readonly #changedFolders = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Changes are detected relative to the content at this moment. */
  open(): void {
    if (this.#closed) return
    for (const target of this.#deps.targets()) this.#revisions.set(keyOf(target), this.#revisionOf(target))
    this.#watch()
  }

  /** Records a change that Toolroom made itself, so that it is not published as another program's. */
  expect(target: ConfigTarget): void {
    this.#revisions.set(keyOf(target), this.#revisionOf(target))
    this.#watch()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  /** Watches every folder that needs it and returns those that were not watched before. */
  #watch(): string[] {
    const folders = [...new Set(this.#deps.targets().map(({ config }) => nearestFolder(config.path)))]
    for (const [folder, watcher] of this.#watchers) {
      if (folders.includes(folder)) continue
      watcher.close()
      this.#watchers.delete(folder)
    }
    const unwatched = folders.slice(0, MAX_FOLDERS).filter((folder) => !this.#watchers.has(folder))
    for (const folder of unwatched) this.#watchFolder(folder)
    return unwatched
  }

  #watchFolder(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#onChange(folder))
      watcher.on('error', (error) => {
        watcher.close()
        this.#watchers.delete(folder)
        this.#deps.onTrouble(folder, error)
      })
      this.#watchers.set(folder, watcher)
    } catch (error) {
      this.#deps.onTrouble(folder, error)
    }
  }

  #onChange(folder: string): void {
    if (this.#closed) return
    this.#changedFolders.add(folder)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#compare(), DEBOUNCE_MS).unref()
  }

  #compare(): void {
    const folders = new Set([...this.#changedFolders, ...this.#watch()])
    this.#changedFolders.clear()
    for (const target of this.#deps.targets()) {
      if (!folders.has(nearestFolder(target.config.path))) continue
      const revision = this.#revisionOf(target)
      const before = this.#revisions.get(keyOf(target))
      this.#revisions.set(keyOf(target), revision)
      if (before !== revision && before !== undefined) this.#publish(target)
    }
  }

  #publish(target: ConfigTarget): void {
    const { agent, config } = target
    const drift = driftOf({ state: readFileState(target), record: this.#deps.recordOf(target) })
    this.#deps.facts.publish('agent_changed', {
      agent_type: agent.type,
      scope: config.scope,
      path: config.path,
      by: 'other',
      drift: drift.map(({ name, verdict }) => ({ name, verdict })),
    })
  }

  /** Of the bytes alone. Most changes in a folder concern other files, so parsing each time would be wasted. */
  #revisionOf(target: ConfigTarget): string {
    try {
      const content = readConfig(fileOf(target))
      if (content) this.#deps.onContent(target.config.path, content)
      return content?.revision ?? 'none'
    } catch (error) {
      return error instanceof Error ? error.message : 'unreadable'
    }
  }
}

const keyOf = ({ agent, config }: ConfigTarget): string => `${agent.type}\0${config.scope}\0${config.path}`
