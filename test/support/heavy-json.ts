/** JSON that is expensive to parse, to walk or to keep, each kind in its own way. The argument: its size in bytes. */
export const HEAVY = {
  'one long text': (bytes) => `"${'x'.repeat(bytes)}"`,
  'escaped quotes': (bytes) => `"${'\\"'.repeat(bytes / 2)}"`,
  'characters of three bytes': (bytes) => `"${'€'.repeat(bytes / 3)}"`,
  'members with long names': (bytes) => `{${repeated(bytes, (n) => `"member number ${n}":0`)}}`,
  'members with short names': (bytes) => `{${repeated(bytes, (n) => `"${n.toString(36)}":0`)}}`,
  'members with escaped names': (bytes) => `{${repeated(bytes, (n) => `"\\u006b${n}":0`)}}`,
  'empty objects': (bytes) => `[${repeated(bytes, () => '{}')}]`,
  'empty lists': (bytes) => `[${repeated(bytes, () => '[]')}]`,
  'short texts': (bytes) => `[${repeated(bytes, () => '"a"')}]`,
  numbers: (bytes) => `[${repeated(bytes, () => '1')}]`,
  'nested lists': (bytes) => `[${repeated(bytes, () => '['.repeat(40) + ']'.repeat(40))}]`,
  'line breaks': (bytes) => `[${repeated(bytes, () => '\n1')}]`,
} as const satisfies Record<string, (bytes: number) => string>

export type Heavy = keyof typeof HEAVY
export const HEAVY_KINDS = Object.keys(HEAVY) as Heavy[]

export const isObjectKind = (kind: Heavy): boolean => kind.startsWith('members')

function repeated(bytes: number, part: (n: number) => string): string {
  const parts: string[] = []
  for (let length = 0; length < bytes; ) {
    const next = part(parts.length)
    parts.push(next)
    length += next.length + 1
  }
  return parts.join(',')
}

const HERE = '%here%'

/**
 * Every place in a message, as a function that writes the message with other JSON there: each member and item at any depth, and
 * one more member of each object.
 */
export function placesIn(
  message: object,
): { readonly path: string; readonly put: (json: string) => string }[] {
  return pathsIn(message).map((path) => {
    const text = JSON.stringify(replacedAt(message, path))
    return { path: path.join('.'), put: (json: string) => text.replace(`"${HERE}"`, () => json) }
  })
}

function pathsIn(value: unknown, path: readonly (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return []
  const own = Object.keys(value).flatMap((key) => [
    [...path, key],
    ...pathsIn((value as Record<string, unknown>)[key], [...path, key]),
  ])
  return Array.isArray(value) ? own : [...own, [...path, 'unknown']]
}

function replacedAt(value: unknown, [first, ...rest]: readonly (string | number)[]): unknown {
  if (first === undefined) return HERE
  const before = value as Record<string | number, unknown>
  if (Array.isArray(value))
    return value.map((item, at) => (String(at) === String(first) ? replacedAt(item, rest) : item))
  return { ...before, [first]: replacedAt(before[first], rest) }
}
