import { AppError } from '../../../kernel/errors.ts'

const MAX_NAME = 64
const NAME = /^[A-Za-z0-9][\w .-]*$/
/** Words that say only what every such package is. */
const DROPPED = /^(?:mcp|servers?|developer)$/i

/** What people call the server in a package: `@stripe/mcp` → `stripe`, `mcp-server-kubernetes@1.0.0` → `kubernetes`. */
export function nameOfPackage(spec: string): string {
  const unversioned = spec.replace(/(?<!^)(?:@|==|[<>~!]=|\[).*$/s, '')
  return nameOfPath(unversioned.split('/'))
}

/** The last segment without those words. Nothing left: the segment before it, such as an npm scope or an owner. */
export function nameOfPath(segments: readonly string[]): string {
  const last = segments.at(-1) ?? ''
  const owner = (segments.at(-2) ?? '').replace(/^@/, '').replace(/-ai$/i, '')
  return fitName(meaningfulPart(last) ?? '') || fitName(owner) || fitName(last) || 'server'
}

/** Undefined when no word is left that has a letter. */
export function meaningfulPart(segment: string): string | undefined {
  const parts = segment.split(/([-_]+)/) // words and the separators between them
  let kept = ''
  for (let at = 0; at < parts.length; at += 2) {
    const word = parts[at] ?? ''
    if (word === '' || DROPPED.test(word)) continue
    kept += kept === '' ? word : `${parts[at - 1]}${word}`
  }
  return /[A-Za-z]/.test(kept) ? kept : undefined
}

/** The name if it is valid, otherwise the nearest valid one. Empty if no character is valid. */
export function fitName(name: string): string {
  if (name.length <= MAX_NAME && NAME.test(name)) return name
  return name
    .slice(0, MAX_NAME * 4)
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .replace(/[^\w .-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, MAX_NAME)
    .replace(/[ .-]+$/, '')
}

/** The name, then `github-2`, `github-3` and so on. */
export function* namesLike(name: string): Generator<string, never> {
  yield name
  for (let number = 2; ; number += 1) {
    const suffix = `-${number}`
    yield name.slice(0, MAX_NAME - suffix.length) + suffix
  }
}

/** Adds a server under a name that its user did not choose, or under the first free one like it. */
export async function addUnderFreeName<T>(name: string, add: (free: string) => Promise<T>): Promise<T> {
  const names = namesLike(name)
  for (;;) {
    try {
      return await add(names.next().value)
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'server_exists') throw error
    }
  }
}
