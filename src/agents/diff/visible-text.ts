import { publicArgs, publicCommand } from '../../kernel/secrets/public-view.ts'
import { maskArgs, maskUrl } from '../../kernel/secrets/secrets.ts'
import type { Definition } from '../catalogue/definition.ts'
import type { VisibleText } from './mask-line.ts'

/** Values in agents' files that are never secrets. */
const KEYWORDS = [
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

/**
 * What a diff may show of these servers: commands, arguments, folders and URLs, but no environment and no headers. The
 * owner, who has the token, sees more of a command.
 */
export function visibleText(
  reader: 'owner' | 'public',
  definitions: readonly Definition[],
  names: readonly string[],
): VisibleText {
  const visible = new Map([...KEYWORDS, ...names].map((word) => [word, word]))
  for (const definition of definitions) {
    if (definition.type === 'stdio') {
      const { command, args, cwd } = definition
      const words = [command, ...args]
      const shown =
        reader === 'owner' ? maskArgs(words) : [publicCommand(command), ...publicArgs(command, args)]
      for (const [index, masked] of shown.entries()) visible.set(words[index] ?? '', masked)
      if (cwd !== null) visible.set(cwd, cwd)
    } else visible.set(definition.url, maskUrl(definition.url))
  }
  // A secret may equal a string that is visible elsewhere. Then it is hidden, unless it is the name of a server.
  for (const definition of definitions) {
    const secrets = definition.type === 'stdio' ? definition.env : definition.headers
    for (const value of Object.values(secrets)) if (!names.includes(value)) visible.delete(value)
  }
  return visible
}
