import { homedir } from 'node:os'
import { sep } from 'node:path'

/** `9ms`, `1.3s`, `2m04s` */
export function milliseconds(ms: number | null | undefined): string | null {
  if (ms === null || ms === undefined) return null
  if (ms < 1000) return `${Math.round(ms)}ms`
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)}s` : elapsed(ms / 1000)
}

/** `42s`, `2m04s`, `3h10m`, `12d` */
export function elapsed(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  if (minutes < 1) return `${Math.floor(seconds)}s`
  if (minutes < 60) return `${minutes}m${String(Math.floor(seconds % 60)).padStart(2, '0')}s`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours}h${String(minutes % 60).padStart(2, '0')}m` : `${Math.floor(hours / 24)}d`
}

/** `84M`, `1.9G` */
export function bytes(count: number | null | undefined): string | null {
  if (count === null || count === undefined) return null
  if (count < 1024) return `${count}B`
  if (count < 1024 ** 2) return `${Math.round(count / 1024)}K`
  return count < 1024 ** 3 ? `${Math.round(count / 1024 ** 2)}M` : `${(count / 1024 ** 3).toFixed(1)}G`
}

/** `412`, `11.2k` */
export function thousands(count: number | null | undefined): string | null {
  if (count === null || count === undefined) return null
  return count < 1000 ? String(count) : `${(count / 1000).toFixed(1)}k`
}

/** `31%`; null if there is nothing to compare with. */
export const share = (part: number, whole: number): string | null =>
  whole === 0 ? null : `${Math.round((part / whole) * 100)}%`

/** `line 3, column 3: a comma is missing`: why a file cannot be edited, beside its name. */
export const withoutFile = (problem: string): string =>
  problem.replace(/^.* cannot be edited: (?=line \d)/, '')

/** `1 server`, `2 servers` */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/** The local time of a timestamp, with its date unless that is today: `12:05:10`, `2026-11-15 12:05:10`. */
export function clock(ts: string, now = new Date()): string {
  const at = new Date(ts)
  const two = (value: number) => String(value).padStart(2, '0')
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':')
  if (at.toDateString() === now.toDateString()) return time
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`
}

/** A path as people write it: `~/.cursor/mcp.json` */
export function shortPath(path: string): string {
  const home = homedir()
  return path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path
}
