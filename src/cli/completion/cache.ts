import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Names } from './candidates.ts'

const FRESH_MS = 10_000
const NONE: Names = { lists: {}, tools: {} }

export const cacheFile = (dataFolder: string): string => join(dataFolder, 'completions.json')

/** The names from the last time that the service was asked. */
export function cachedNames(dataFolder: string): { names: Names; isFresh: boolean } {
  const file = cacheFile(dataFolder)
  try {
    const names = JSON.parse(readFileSync(file, 'utf8')) as Names
    return { names, isFresh: Date.now() - statSync(file).mtimeMs < FRESH_MS }
  } catch {
    return { names: NONE, isFresh: false } // never asked
  }
}
