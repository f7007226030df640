/** How an agent writes and reads a server: all of it, for those who edit files. */
export { type Definition, NotSupported } from './definition.ts'
export { checkName, keyOf } from './name.ts'
export { readEntry } from './read-entry.ts'
export { switchOf } from './switch-of.ts'
export { type FieldChange, updateOf } from './update-of.ts'
export { writeEntry } from './write-entry.ts'
