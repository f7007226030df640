import { maskText } from './mask-secrets.ts'
import { plainText } from './strip-terminal-codes.ts'
import { MIN_LENGTH, TextIndex } from './text-index.ts'

/** The stored secrets by owner, to redact exactly these from text. In memory only. */
export class KnownSecrets {
  readonly #byOwner = new Map<string, readonly string[]>()
  readonly #index = new TextIndex()

  set(owner: string, secrets: readonly string[]): void {
    const before = this.#byOwner.get(owner) ?? []
    if (secrets.length === before.length && secrets.every((secret, at) => secret === before[at])) return
    this.#byOwner.set(owner, secrets)
    for (const secret of secrets) for (const text of textsOf(secret)) this.#index.add(text)
    this.#remove(before)
  }

  delete(owner: string): void {
    const before = this.#byOwner.get(owner) ?? []
    this.#byOwner.delete(owner)
    this.#remove(before)
  }

  /** Masks every known secret, and every line of one. Those under 8 characters stay: they would match ordinary words. */
  redact(text: string): string {
    return this.#index.mask(text)
  }

  #remove(secrets: readonly string[]): void {
    for (const secret of secrets) for (const text of textsOf(secret)) this.#index.delete(text)
  }
}

/** What a secret looks like in a text: as a whole and, because a log is made of lines, each of its lines. */
function textsOf(secret: string): Set<string> {
  const texts = new Set(spellingsOf(secret))
  for (const line of secret.split(LINE_END))
    if (line.length < secret.length && isSecretLine(line))
      for (const text of spellingsOf(line)) texts.add(text)
  return texts
}

/** In the environment, the lines of a key are often joined by `\n`. */
const LINE_END = /[\r\n\u2028\u2029]+|(?:\\r)?\\n/

function spellingsOf(secret: string): string[] {
  const spellings = [
    secret,
    secret.trim(),
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
    ...(HOST.test(secret) ? [secret.toLowerCase()] : []),
  ]
  return spellings.filter((text) => text.length >= MIN_LENGTH)
}

/** It may be a part of a host, which URLs have in small letters. */
const HOST = /^[\w.-]{1,253}$/

const ARMOUR = /^\s*-{4,5}\s?(?:BEGIN|END) /
const RUN = /[A-Za-z0-9+/_=-]{8,}/g
const WORD = /^(?:[A-Z]?[a-z]{0,20}|[A-Z]{1,20}|\d{1,15})$/

/**
 * Whether a line of a secret is one itself. Not the first and last line of a key, nor a line of nothing but words and
 * numbers, such as the name of a field, which other texts have, too.
 */
function isSecretLine(line: string): boolean {
  if (ARMOUR.test(line)) return false
  return (line.match(RUN) ?? []).some((run) => run.split(/[+/_=-]+/).some((part) => !WORD.test(part)))
}

/**
 * Text of a server or of npm, as it is stored and shown: without terminal sequences, which could also hide a secret,
 * then without known secrets, then without what looks like one.
 */
export const redactText = (text: string, secrets: KnownSecrets): string =>
  maskText(secrets.redact(plainText(text)))
