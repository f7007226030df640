// The differences that may occur, and why. `npm run fidelity` fails for every other one, and when one of these no longer
// occurs. docs/gateway.md has the same table.

/** A difference matches if all given fields do. `probe` and `path` are patterns. */
export const ALLOWED = []

/** Defects that are known and not mended yet. */
export const NOT_YET = []

const FIELDS = [
  'server',
  'client',
  'profile',
  'via',
  'era',
  'isTranslated',
  'probe',
  'path',
  'direct',
  'gateway',
]

/** @returns the entry that explains a difference, or undefined */
export const explain = (difference) => [...ALLOWED, ...NOT_YET].find((entry) => matches(entry, difference))

function matches(entry, difference) {
  return FIELDS.every((field) => {
    const wanted = entry[field]
    if (wanted === undefined) return true
    return wanted instanceof RegExp ? wanted.test(String(difference[field])) : wanted === difference[field]
  })
}
