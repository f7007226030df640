import { statSync } from 'node:fs'
import { type ConfigTarget, fileOf, pathsOf } from '../files/config-target.ts'
import type { Content } from '../files/config-text.ts'
import { isWritableFile } from '../files/file-safety.ts'
import { type Entry, type FileState, linesOf, readFileState } from './read-entries.ts'

/** What lists show of a file. Its text is not kept: that of one agent grows to several MiB. */
export interface SeenFile
  extends Pick<FileState, 'place' | 'entries' | 'parseError' | 'problem' | 'writable'> {
  readonly content: Pick<Content, 'revision'> | undefined
}

interface Kept {
  readonly signature: string
  readonly file: SeenFile
}

/** A file that was modified within this time is read again: a second change might have the same time. */
const RECENT_MS = 2_000

/** Reads files, and reads them again only when they have changed. */
export class SeenFiles {
  readonly #kept = new Map<string, Kept>()
  /** By the entries of a file. */
  readonly #lines = new WeakMap<readonly Entry[], ReadonlyMap<Entry, number | null>>()

  of(target: ConfigTarget): SeenFile {
    const key = keyOf(target)
    const signature = signatureOf(pathsOf(target))
    const kept = this.#kept.get(key)
    if (kept && kept.signature === signature) return { ...kept.file, writable: isWritable(target) }
    const state = readFileState(target)
    const { place, content, entries, parseError, problem, writable } = state
    const shown = content && { revision: content.revision }
    const file = { place, content: shown, entries, parseError, problem, writable }
    const lineOf = linesOf(state)
    this.#lines.set(file.entries, new Map(file.entries.map((entry) => [entry, lineOf(entry)])))
    if (signature === undefined) this.#kept.delete(key)
    else this.#kept.set(key, { signature, file })
    return file
  }

  lineOf(file: SeenFile, entry: Entry): number | null {
    return this.#lines.get(file.entries)?.get(entry) ?? null
  }
}

const keyOf = ({ agent, place, project }: ConfigTarget): string =>
  JSON.stringify([agent.type, place.scope, place.path, place.keyPath, project])

const isWritable = (target: ConfigTarget): boolean => {
  const { path, root } = fileOf(target)
  return !target.place.readOnly && target.place.ambiguous.length === 0 && isWritableFile(path, root)
}

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
