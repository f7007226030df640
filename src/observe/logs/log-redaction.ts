import type { LogEntry } from '../../kernel/log.ts'
import { type KnownSecrets, redactText } from '../../kernel/secrets/known-secrets.ts'
import type { StoredEntry } from './log-store.ts'

const MAX_BYTES = 64 * 1024
const MAX_DATA_BYTES = 64 * 1024

/** Removes terminal sequences, masks known secrets, then text that looks like a secret, and cuts the line to size. */
export function redactEntry(entry: LogEntry, secrets: KnownSecrets, repeat = 1): StoredEntry {
  const clean = (text: string) => redactText(text, secrets)
  const { text, truncated } = cut(clean(entry.message), entry.cut ?? 0)
  // Every field by name: object spread takes three times the memory, and thousands of lines may wait.
  return {
    ts: entry.ts,
    level: entry.level,
    source: entry.source,
    stream: entry.stream ?? null,
    server_id: entry.server_id ?? null,
    agent_type: entry.agent_type ?? null,
    tool: entry.tool ? clean(entry.tool) : null,
    request_id: entry.request_id ?? null,
    message: text,
    data: dataText(entry.data, clean, secrets),
    repeat,
    truncated,
  }
}

/** Limits the bytes of a message and appends how many are missing. */
function cut(message: string, before: number): { text: string; truncated: boolean } {
  if (before === 0 && message.length <= MAX_BYTES / 3) return { text: message, truncated: false } // at most 3 bytes per UTF-16 unit
  const bytes = Buffer.from(message, 'utf8')
  if (before === 0 && bytes.length <= MAX_BYTES) return { text: message, truncated: false }
  const note = (missing: number) => ` … (${missing} bytes cut)`
  const room = MAX_BYTES - Buffer.byteLength(note(bytes.length + before))
  // A character split by the cut becomes U+FFFD, which can be longer than the remaining bytes.
  const kept = bytes
    .subarray(0, room - 3)
    .toString('utf8')
    .replace(/\uFFFD+$/, '')
  return { text: kept + note(before + bytes.length - Buffer.byteLength(kept)), truncated: true }
}

function dataText(
  data: LogEntry['data'],
  clean: (text: string) => string,
  secrets: KnownSecrets,
): string | null {
  if (!data) return null
  const replacer = (_: string, value: unknown): unknown => {
    if (typeof value === 'string') return clean(value)
    return typeof value === 'bigint' ? String(value) : value
  }
  try {
    const text = secrets.redact(JSON.stringify(data, replacer)) // keys may contain secrets too
    JSON.parse(text)
    if (Buffer.byteLength(text) <= MAX_DATA_BYTES) return text
    const { audit_id } = data // marks this audit row as present in the log
    return JSON.stringify({
      ...(typeof audit_id === 'number' && { audit_id }),
      cut: 'the data was larger than 64 KiB',
    })
  } catch {
    return JSON.stringify({ cut: 'the data could not be written as JSON' }) // a cycle
  }
}
