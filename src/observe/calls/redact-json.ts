import { isObject } from '../../kernel/json/json-checks.ts'
import { type KnownSecrets, redactText } from '../../kernel/secrets/known-secrets.ts'
import { hasKeyShape, isSecretName, MASK } from '../../kernel/secrets/mask-secrets.ts'
import { plainText } from '../../kernel/secrets/strip-terminal-codes.ts'

/** Far more than any tool has, and little enough for a recursive function. */
const MAX_DEPTH = 100

/** What a secret in JSON text has. As one expression, they would take twice as long. */
const SUSPICIOUS: readonly RegExp[] = [
  /[\\\p{Cc}]/u, // an escape could hide one
  /:\/\//,
  /(?:^|[^\w.-])-{1,2}[a-z]/i, // a flag
  /export\s|token|key|secret|pass|pwd|bearer|basic|jwt|session|cookie|cred|dsn|sig|pat|auth/i,
]

/**
 * JSON text with its secrets masked: texts and names as in the log, and every text whose name means a secret. The same text
 * if there are none. Undefined when it is not JSON, or when a secret in it can only be masked as text.
 */
export function redactJsonText(text: string, secrets: KnownSecrets): string | undefined {
  if (isHarmless(text, secrets)) return text
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const shown = masked(value, secrets, false, 0)
  const kept = shown === value ? text : JSON.stringify(shown)
  return secrets.redact(kept) === kept ? kept : undefined // digits that JavaScript cannot represent
}

/** Whether one look at JSON text shows that it has no secret. False when it may have one. */
export function isHarmless(text: string, secrets: KnownSecrets): boolean {
  for (const pattern of SUSPICIOUS) if (pattern.test(text)) return false
  return !hasKeyShape(text) && secrets.redact(text) === text
}

function masked(value: unknown, secrets: KnownSecrets, isSecret: boolean, depth: number): unknown {
  if (typeof value === 'string') return isSecret && value !== '' ? MASK : maskedText(value, secrets)
  if (typeof value === 'number' && secrets.redact(String(value)) !== String(value)) return MASK
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return MASK
  if (Array.isArray(value)) return maskedList(value, secrets, isSecret, depth)
  return isObject(value) ? maskedObject(value, secrets, depth) : value
}

function maskedList(list: readonly unknown[], secrets: KnownSecrets, isSecret: boolean, depth: number) {
  const items = list.map((item) => masked(item, secrets, isSecret, depth + 1))
  return items.some((item, index) => item !== list[index]) ? items : list
}

function maskedObject(object: Readonly<Record<string, unknown>>, secrets: KnownSecrets, depth: number) {
  const before = Object.entries(object)
  const after = before.map(
    ([key, value]) =>
      [maskedText(key, secrets), masked(value, secrets, isSecretName(key), depth + 1)] as const,
  )
  const isChanged = after.some(
    ([key, value], index) => key !== before[index]?.[0] || value !== before[index]?.[1],
  )
  return isChanged ? Object.fromEntries(after) : object
}

/** A text without secrets keeps its control characters. */
function maskedText(text: string, secrets: KnownSecrets): string {
  const redacted = redactText(text, secrets)
  return redacted === text || redacted === plainText(text) ? text : redacted
}
