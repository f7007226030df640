/** One challenge of a WWW-Authenticate header. Scheme and parameter names are in lower case; values are whole. */
export interface Challenge {
  readonly scheme: string
  readonly params: Readonly<Record<string, string>>
}

const SEPARATOR = /[\s,]*/y
const WORD = /[\w!#$%&'*+.^`|~-]+/y
const EQUALS = /[ \t]*=[ \t]*/y
const QUOTED = /"((?:[^"\\]|\\.)*)"/sy
/** An unquoted value. Servers write URLs and lists without quotes, too. */
const BARE = /[^\s,"]+/y
/** The single value of schemes such as `Negotiate YIIabc==`. */
const TOKEN68 = /[ \t]+[\w.~+/-]+=*(?=[ \t]*(?:,|$))/y

/**
 * All challenges of a header in their order. Several headers arrive joined by commas, so a word that has no value starts a
 * new challenge. Reading ends at a quote that is never closed. The time is linear.
 */
export function parseChallenges(header: string | undefined): Challenge[] {
  const text = header ?? ''
  const found: { scheme: string; params: Record<string, string> }[] = []
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match) at = pattern.lastIndex
    return match
  }
  for (take(SEPARATOR); at < text.length; take(SEPARATOR)) {
    const word = take(WORD)?.[0].toLowerCase()
    if (word === undefined) {
      if (!take(QUOTED) && !take(BARE)) break
    } else if (take(EQUALS)) {
      const value = take(QUOTED)?.[1]?.replace(/\\(.)/gs, '$1') ?? take(BARE)?.[0]
      const params = found.at(-1)?.params
      if (params && value !== undefined) params[word] ??= value
      if (text[at] === '"') break
    } else {
      found.push({ scheme: word, params: {} })
      take(TOKEN68)
    }
  }
  return found
}

/** The challenge that a login answers. The scheme DPoP is a Bearer token that is bound to a key. */
export function bearerChallenge(header: string | undefined): Challenge | undefined {
  const usable = parseChallenges(header).filter(({ scheme }) => scheme === 'bearer' || scheme === 'dpop')
  return usable.find(({ params }) => params.resource_metadata !== undefined) ?? usable[0]
}
