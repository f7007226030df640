const MAX_CHARACTERS = 2000
const MAX_BYTES = 16 * 1024

/** What servers say of their own use, under one heading each. Undefined when none of them says anything. */
export function mergedInstructions(
  servers: readonly { readonly id: string; readonly instructions: string | null }[],
): string | undefined {
  const parts: string[] = []
  let bytes = 0
  for (const { id, instructions } of [...servers].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    const text = instructions?.trim()
    if (!text) continue
    const part = `## ${id}\n${cut(text)}`
    bytes += Buffer.byteLength(part) + 2
    if (bytes > MAX_BYTES) break
    parts.push(part)
  }
  return parts.length > 0 ? parts.join('\n\n') : undefined
}

const cut = (text: string): string =>
  text.length <= MAX_CHARACTERS
    ? text
    : `${text
        .slice(0, MAX_CHARACTERS - 1)
        .replace(HALF, '')
        .trimEnd()}…`

/** Half of a character that takes two. */
const HALF = /[\uD800-\uDBFF]$/
