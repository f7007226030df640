import { maskArgs, maskUrl } from '../../kernel/secrets/secrets.ts'
import type { Definition } from '../catalogue/definition.ts'
import type { Shown } from './mask-line.ts'

/** Words that agents' files use for what is no secret. */
const WORDS = [
  '*',
  'stdio',
  'local',
  'remote',
  'http',
  'sse',
  'streamable-http',
  'streamable_http',
  'streamableHttp',
  'cmd',
  '/c',
]

/** What may be seen of these servers: what they run and where they are, never what they are given to know. */
export function shownOf(definitions: readonly Definition[], names: readonly string[]): Shown {
  const shown = new Map([...WORDS, ...names].map((word) => [word, word]))
  for (const definition of definitions) {
    if (definition.type === 'stdio') {
      const texts = [definition.command, ...definition.args]
      for (const [index, text] of maskArgs(texts).entries()) shown.set(texts[index] ?? '', text)
      if (definition.cwd !== null) shown.set(definition.cwd, definition.cwd)
    } else shown.set(definition.url, maskUrl(definition.url))
  }
  // A secret may be a word that stands elsewhere as well, such as the name of a server.
  for (const definition of definitions) {
    const secrets = definition.type === 'stdio' ? definition.env : definition.headers
    for (const value of Object.values(secrets)) if (!names.includes(value)) shown.delete(value)
  }
  return shown
}
