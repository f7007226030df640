import { createHash } from 'node:crypto'

/** Stored beside a text, because SQLite does not notice a flipped bit in one. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64')
