import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** What a program did to files, as `file-operations.cjs` records it. */
export type Operation =
  | {
      readonly op: 'open'
      readonly path: string
      readonly fd: number
      readonly created: boolean
      readonly folder: boolean
      readonly emptied: boolean
    }
  | { readonly op: 'write'; readonly fd: number; readonly data: string }
  | { readonly op: 'writeFile'; readonly path: string; readonly created: boolean; readonly data: string }
  | { readonly op: 'fsync' | 'close'; readonly fd: number }
  | { readonly op: 'rename' | 'link'; readonly from: string; readonly to: string }
  | { readonly op: 'symlink'; readonly path: string; readonly data: string }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'mkdir'; readonly path: string; readonly top: string }

/** The content of a file, or that there is none. `torn` stands for every content that was never complete. */
type Content = string | 'absent' | 'torn'

interface File {
  now: string
  /** What is on the disk for certain; undefined before the first fsync. */
  synced: string | undefined
}

/** The entry of a name in its folder. Without an fsync of the folder, each value since the last one may be on the disk. */
interface Entry {
  now: File | undefined
  readonly possible: Set<File | undefined>
}

/**
 * The disk as a power cut could leave it, by the rules of POSIX: the data of a file is certain only after an fsync of the
 * file, and its name only after an fsync of its folder. What was there before the recording is on the disk.
 */
class Disk {
  readonly #entries = new Map<string, Entry>()
  readonly #handles = new Map<number, { readonly path: string; readonly file: File | undefined }>()

  constructor(existing: readonly string[]) {
    for (const path of existing) {
      const file = { now: `before ${path}`, synced: `before ${path}` }
      this.#entries.set(path, { now: file, possible: new Set([file]) })
    }
  }

  apply(operation: Operation): void {
    switch (operation.op) {
      case 'open': {
        const { path, fd, created, folder, emptied } = operation
        if (created) this.#set(path, { now: '', synced: undefined })
        const file = folder ? undefined : this.#fileAt(path)
        if (file && emptied) file.now = ''
        this.#handles.set(fd, { path, file })
        return
      }
      case 'write': {
        const file = this.#handles.get(operation.fd)?.file
        if (file) file.now += `[${operation.data}]`
        return
      }
      case 'writeFile':
        if (operation.created) this.#set(operation.path, { now: '', synced: undefined })
        this.#fileAt(operation.path).now = `[${operation.data}]`
        return
      case 'fsync':
        this.#sync(operation.fd)
        return
      case 'close':
        this.#handles.delete(operation.fd)
        return
      case 'rename':
      case 'link':
        this.#set(operation.to, this.#fileAt(operation.from))
        if (operation.op === 'rename') this.#set(operation.from, undefined)
        return
      case 'symlink':
        this.#set(operation.path, { now: operation.data, synced: operation.data })
        return
      case 'remove':
        for (const path of this.#entries.keys())
          if (path === operation.path || path.startsWith(`${operation.path}/`)) this.#set(path, undefined)
        return
      case 'mkdir':
        for (let path = operation.path; path.length >= operation.top.length; path = dirname(path))
          this.#set(path, { now: 'folder', synced: 'folder' })
    }
  }

  now(path: string): Content {
    return this.#entries.get(path)?.now?.now ?? 'absent'
  }

  /** Every content that the file may have after a power cut. */
  possible(path: string): Set<Content> {
    const contents = new Set<Content>()
    for (const file of this.#entries.get(path)?.possible ?? [undefined]) {
      if (!file) contents.add('absent')
      else if (file.synced === file.now) contents.add(file.now)
      else contents.add('torn')
    }
    for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder))
      if (this.#entries.get(folder)?.possible.has(undefined)) contents.add('absent')
    return contents
  }

  #sync(fd: number): void {
    const handle = this.#handles.get(fd)
    if (!handle) return
    if (handle.file) handle.file.synced = handle.file.now
    for (const [path, entry] of handle.file ? [] : this.#entries) {
      if (dirname(path) !== handle.path) continue
      entry.possible.clear()
      entry.possible.add(entry.now)
    }
  }

  #set(path: string, file: File | undefined): void {
    const entry = this.#entries.get(path) ?? { now: undefined, possible: new Set([undefined]) }
    entry.now = file
    entry.possible.add(file)
    this.#entries.set(path, entry)
  }

  /** A file that is not known was written by SQLite or another process, which may not have synced it. */
  #fileAt(path: string): File {
    const known = this.#entries.get(path)?.now
    if (known) return known
    const file = { now: `written by others: ${basename(path)}`, synced: undefined }
    this.#set(path, file)
    return file
  }
}

/** The files and folders below a folder, for `findings`. */
export const filesBelow = (folder: string): string[] => [
  folder,
  ...(readdirSync(folder, { recursive: true }) as string[]).map((name) => join(folder, name)),
]

/**
 * Cuts the power after each operation, and returns what could then be wrong with these files: a content that is neither
 * the one before nor the last one, and after the last operation also everything but the last one.
 */
export function findings(
  operations: readonly Operation[],
  paths: readonly string[],
  existing: readonly string[] = [],
): string[] {
  const whole = new Disk(existing)
  const before = new Map(paths.map((path) => [path, whole.now(path)]))
  for (const operation of operations) whole.apply(operation)
  const disk = new Disk(existing)
  const found = new Set<string>()
  for (const [index, operation] of operations.entries()) {
    disk.apply(operation)
    const isLast = index === operations.length - 1
    for (const path of paths) {
      const allowed = isLast ? [whole.now(path)] : [whole.now(path), before.get(path)]
      for (const content of disk.possible(path))
        if (!allowed.includes(content))
          found.add(`${basename(path)} may be ${content} ${isLast ? 'at the end' : `after ${operation.op}`}`)
    }
  }
  return [...found]
}
