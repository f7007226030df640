/** Members of foreign JSON. Anything of another type counts as absent. */

const MAX_ENTRIES = 200

export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

export const textsOf = (value: unknown): string[] | undefined =>
  Array.isArray(value)
    ? value.slice(0, MAX_ENTRIES).filter((each) => typeof each === 'string' && each !== '')
    : undefined
