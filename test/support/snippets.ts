import type { SnippetEntry } from '../../src/import/read/snippet/snippet.ts'

/** A short form of the parsed entries, for expectations. */
export const stdio = (
  command: string,
  args: string[] = [],
  env: Record<string, string> = {},
  cwd?: string,
) => ({
  type: 'stdio',
  command,
  args,
  env,
  ...(cwd === undefined ? {} : { cwd }),
})
export const http = (url: string, transport = 'auto', headers: Record<string, string> = {}) => ({
  type: 'http',
  url,
  transport,
  headers,
})
export const npx = (...args: string[]) => stdio('npx', ['-y', ...args])
export const definitions = (entries: readonly SnippetEntry[]) =>
  Object.fromEntries(entries.map(({ name, definition }) => [name, definition]))
