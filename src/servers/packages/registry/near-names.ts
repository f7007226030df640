import { editsBetween } from '../../../kernel/did-you-mean.ts'
import { WELL_KNOWN } from './well-known-packages.ts'

/** A package name with its weekly downloads. */
interface NamedPackage {
  readonly name: string
  readonly downloads: number | null
}

const KNOWN = new Set(WELL_KNOWN)
const MANY_WEEKLY = 1000
const FAR_MORE_USED = 10

/** The well-known or far more used package whose name could be confused with this one. */
export function nearName(one: NamedPackage, results: readonly NamedPackage[] = []): string | undefined {
  if (KNOWN.has(one.name)) return undefined
  const known = WELL_KNOWN.find((name) => isNear(one.name, name))
  return known ?? results.find((other) => isMoreUsed(other, one) && isNear(one.name, other.name))?.name
}

/** Suggestions for a name that does not exist. */
export function similarNames(name: string, names: readonly string[] = WELL_KNOWN): string[] {
  return names.filter((other) => other !== name && isAlike(name, other)).slice(0, 3)
}

function isMoreUsed(other: NamedPackage, { name, downloads }: NamedPackage): boolean {
  if (other.name === name || other.downloads === null || other.downloads < MANY_WEEKLY) return false
  return downloads !== null && other.downloads >= Math.max(1, downloads) * FAR_MORE_USED
}

/** Similar names in the same scope are harmless: they have the same owner. */
function isNear(name: string, known: string): boolean {
  const { scope } = partsOf(name)
  return name !== known && (scope === '' || scope !== partsOf(known).scope) && isAlike(name, known)
}

/** Looks the same, differs in one or two letters, or is the same name in another scope. */
function isAlike(name: string, known: string): boolean {
  const [looks, original] = [lookOf(name), lookOf(known)]
  if (looks === original) return true
  const { short } = partsOf(known)
  if (partsOf(name).short === short && coreOf(short).length >= 4) return true
  const core = coreOf(known).length
  const allowed = core >= 8 ? 2 : core >= 4 ? 1 : 0
  return allowed > 0 && editsBetween(looks, original, allowed) !== undefined
}

function partsOf(name: string): { scope: string; short: string } {
  const [, scope = '', short = name] = /^@([^/]+)\/(.+)$/.exec(name) ?? []
  return { scope, short }
}

/** The name without separators and with look-alike letters unified. */
function lookOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[@/._-]/g, '')
    .replace(/rn/g, 'm')
    .replace(/vv/g, 'w')
    .replace(/[0135]/g, (digit) => ({ 0: 'o', 1: 'l', 3: 'e', 5: 's' })[digit] ?? digit)
    .replace(/i/g, 'l')
}

/** The distinctive part of a name: `github` of `mcp-server-github`. */
function coreOf(name: string): string {
  return name
    .split(/[@/._-]/)
    .filter((word) => !/^(?:mcp|servers?|tools?|cli|sdk|modelcontextprotocol)$/.test(word))
    .join('')
}
