/** The command and its first arguments; undefined if npm was not found. */
export function findNpm(): string[] | undefined
