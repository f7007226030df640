import type { KnownSecrets } from '../../kernel/secrets/known-secrets.ts'
import { redactText } from '../../kernel/secrets/redact-text.ts'
import { isHarmless, redactJsonText } from './redact-json.ts'

/** The arguments or the result of a call, without secrets. */
export interface KeptJson {
  /** JSON, or the beginning of it. */
  readonly text: string
  /** Whether the end is missing. */
  readonly cut: boolean
  /** Whether secrets were masked. */
  readonly redacted: boolean
}

/** What is kept of one call. Null: the call had none. */
export interface KeptPayload {
  readonly arguments: KeptJson | null
  readonly result: KeptJson | null
}

/** Of the arguments, and of the result. */
export const MAX_KEPT_BYTES = 64 * 1024
/** Longer than a secret. It is read and redacted beyond the limit, so that no part of a secret is left at the cut. */
const MARGIN_BYTES = 8 * 1024
/** The part of a payload that is needed to keep it. */
export const MAX_READ_BYTES = MAX_KEPT_BYTES + MARGIN_BYTES

/** Masks the secrets, and cuts what is larger than 64 KiB. `json`: at least its first 72 KiB. */
export function keptJson(json: string, secrets: KnownSecrets): KeptJson {
  if (Buffer.byteLength(json) > MAX_KEPT_BYTES) return beginning(json, secrets)
  const text = redactJsonText(json, secrets)
  if (text === undefined) return { text: redactText(json, secrets), cut: true, redacted: true }
  return { text, cut: false, redacted: text !== json }
}

function beginning(json: string, secrets: KnownSecrets): KeptJson {
  const clean = Buffer.from(isHarmless(json, secrets) ? json : redactText(json, secrets))
  const end = Math.max(0, Math.min(MAX_KEPT_BYTES, clean.length - MARGIN_BYTES))
  return { text: clean.toString('utf8', 0, end).replace(/\uFFFD+$/, ''), cut: true, redacted: true }
}
