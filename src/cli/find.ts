import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartError } from '../kernel/exit.ts'

/**
 * Where the Toolroom of this data folder answers; undefined when none runs. One that was killed leaves its word behind,
 * and whoever has taken its port since must not be told an agent's key.
 */
export function findAddress(folder: string): string | undefined {
  try {
    const { pid, address } = JSON.parse(readFileSync(join(folder, 'instance.json'), 'utf8'))
    process.kill(pid, 0)
    // Whoever listens everywhere is reached at home.
    return baseOf(address.replace(/\/\/(?:0\.0\.0\.0|\[::\])(?=:)/, '//127.0.0.1'))
  } catch {
    return undefined // no such file, or no such process
  }
}

/** The address as a person gives it, with or without the path of the gateway. */
export function givenAddress(url: string, from: string): string {
  const base = baseOf(url)
  if (base !== undefined) return base
  throw new StartError('configuration', `${from} must be an http or https URL such as http://127.0.0.1:8665`)
}

function baseOf(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search) return undefined
  return `${url.origin}${url.pathname.replace(/(?:\/mcp)?\/*$/, '')}`
}
