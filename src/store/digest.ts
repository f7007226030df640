import { createHash } from 'node:crypto'

/** Stored beside a text column, because SQLite does not detect a flipped bit in one. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64')
