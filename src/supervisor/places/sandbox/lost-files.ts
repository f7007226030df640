import { constants, type Dir } from 'node:fs'
import { type FileHandle, lstat, open, opendir, stat, statfs } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { listProcesses } from '../../platform/linux/proc.ts'

/** Files that a sandboxed server has made in its empty home. They are in memory, and lost when it ends. */
export interface LostFiles {
  /** Absolute paths, as the server knows them. Those outside of hidden folders of the home come first. */
  readonly paths: readonly string[]
  /** How many there are, as far as they were counted. */
  readonly count: number
}

export const NO_LOST_FILES: LostFiles = { paths: [], count: 0 }

/** A server can make as many files and folders as it likes. */
const MAX_ENTRIES = 10_000
const MAX_DEPTH = 24
const MAX_MS = 1500
const MAX_PATHS = 1000

const TMPFS = 0x01021994
/** Never waits for the other end of a pipe, and never follows a link. */
const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW | constants.O_NONBLOCK

interface Folder {
  readonly path: string
  readonly depth: number
}

/**
 * The files in the empty homes of a running sandbox, by name: no contents are read. `holder` is the process of bwrap
 * outside. Its child inside shows the file systems of the sandbox, and the server cannot change its root. Names that are
 * not valid UTF-8 are left out.
 */
export async function lostFiles(holder: number, homes: readonly string[]): Promise<LostFiles> {
  const inside = listProcesses().find(({ parent, zombie }) => parent === holder && !zombie)
  if (inside === undefined) return NO_LOST_FILES
  const search = new Search(`/proc/${inside.pid}/root`)
  for (const home of new Set(homes.map((each) => resolve(each)))) await search.home(home)
  const { plain, hidden, count } = search
  return { paths: [...plain.sort(), ...hidden.sort()].slice(0, MAX_PATHS), count }
}

/** Breadth first, so that a deep folder keeps the search from no other, and hidden folders of the home last. */
class Search {
  readonly plain: string[] = []
  readonly hidden: string[] = []
  count = 0
  readonly #root: string
  readonly #endsAt = performance.now() + MAX_MS
  #entries = 0

  constructor(root: string) {
    this.#root = root
  }

  async home(home: string): Promise<void> {
    const device = await memoryOf(this.#root, home)
    if (device === undefined) return
    const isHidden = (path: string) => path.startsWith(`${home}/.`)
    const files = (path: string) => (isHidden(path) ? this.hidden : this.plain)
    const found = await this.#read({ path: home, depth: 0 }, device, files)
    const byTurn = [found.filter(({ path }) => !isHidden(path)), found.filter(({ path }) => isHidden(path))]
    for (const folders of byTurn)
      for (const folder of folders) {
        if (this.#isOver) return
        const inner = await this.#read(folder, device, files)
        if (folder.depth < MAX_DEPTH) folders.push(...inner) // the loop goes on with them
      }
  }

  get #isOver(): boolean {
    return this.#entries >= MAX_ENTRIES || performance.now() > this.#endsAt
  }

  /** The folders in a folder. What is on another device is a folder that the server may write or read. */
  async #read({ path, depth }: Folder, device: number, files: (path: string) => string[]): Promise<Folder[]> {
    let folder: FileHandle | undefined
    let entries: Dir | undefined
    const folders: Folder[] = []
    try {
      folder = await open(this.#root + path, FOLDER)
      // A path may lead elsewhere by now, through a link. An open folder of this device is one of the sandbox.
      if ((await folder.stat()).dev !== device) return []
      const own = `/proc/self/fd/${folder.fd}`
      entries = await opendir(own, { bufferSize: 128 })
      for (let entry = await entries.read(); entry && !this.#isOver; entry = await entries.read()) {
        this.#entries += 1
        const full = join(path, entry.name)
        if (entry.isDirectory()) folders.push({ path: full, depth: depth + 1 })
        else if (entry.isFile() && (await isOn(device, join(own, entry.name)))) {
          this.count += 1
          if (files(full).length < MAX_PATHS) files(full).push(full)
        }
      }
      return folders
    } catch {
      return folders // it was deleted, it may not be read, or the sandbox has ended
    } finally {
      await entries?.close().catch(() => {}) // nothing was written
      await folder?.close().catch(() => {})
    }
  }
}

/** The device of a home in memory. Undefined if it is that of the user: before bwrap is ready, or where it may be written. */
async function memoryOf(root: string, home: string): Promise<number | undefined> {
  try {
    const [inside, outside, { type }] = await Promise.all([
      stat(root + home),
      stat(home),
      statfs(root + home),
    ])
    return type === TMPFS && inside.dev !== outside.dev ? inside.dev : undefined
  } catch {
    return undefined // there is no such folder, or the sandbox has ended
  }
}

/** False for a single file that the server may write or read. */
const isOn = async (device: number, file: string): Promise<boolean> =>
  lstat(file).then(
    ({ dev }) => dev === device,
    () => false, // it was deleted
  )
