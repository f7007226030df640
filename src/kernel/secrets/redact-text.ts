import type { KnownSecrets } from './known-secrets.ts'
import { plainText } from './plain-text.ts'
import { maskText } from './secrets.ts'

/**
 * Text of a server or of npm, as it is stored and shown: without terminal sequences, which could also hide a secret,
 * then without known secrets, then without what looks like one.
 */
export const redactText = (text: string, secrets: KnownSecrets): string =>
  maskText(secrets.redact(plainText(text)))
