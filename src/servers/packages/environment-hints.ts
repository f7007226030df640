import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readForeign } from '../../kernel/files/foreign-file.ts'
import { objectsIn, readJson } from './foreign-json.ts'
import type { EnvHint } from './package-record.ts'

const README_MAX_BYTES = 512 * 1024
const MAX_HINTS = 30
const MAX_LISTED = 100
const NAME = /^[A-Z][A-Z0-9_]{2,63}$/

/** The environment variables that a package documents: in its server.json, else in the examples of its README. */
export function envHints(folder: string): EnvHint[] {
  const described = fromManifest(folder)
  return (described.length > 0 ? described : fromReadme(folder)).slice(0, MAX_HINTS)
}

function fromManifest(folder: string): EnvHint[] {
  const { packages } = readJson(join(folder, 'server.json'))
  const variables = objectsIn(packages, MAX_LISTED).flatMap((one) =>
    objectsIn(one.environmentVariables ?? one.environment_variables, MAX_LISTED),
  )
  return variables.flatMap(({ name, description, isRequired, is_required }): EnvHint[] => {
    if (typeof name !== 'string' || !NAME.test(name)) return []
    const required = isRequired ?? is_required
    return [
      {
        name,
        description: typeof description === 'string' ? description.slice(0, 300) : null,
        required: typeof required === 'boolean' ? required : null,
        from: 'server.json',
      },
    ]
  })
}

/** Empty when it is no regular file of a usual size. */
function textOf(path: string): string {
  try {
    return readForeign(path, README_MAX_BYTES).bytes.toString('utf8')
  } catch {
    return ''
  }
}

/** The names inside `"env": { … }` of configuration examples. */
function fromReadme(folder: string): EnvHint[] {
  const path = ['README.md', 'readme.md', 'Readme.md'].map((name) => join(folder, name)).find(existsSync)
  const text = path === undefined ? '' : textOf(path)
  const names = new Set<string>()
  for (const [, inside = ''] of text.matchAll(/"env"\s*:\s*\{([^}]{0,2000})\}/g))
    for (const [, name = ''] of inside.matchAll(/"([A-Z][A-Z0-9_]{2,63})"\s*:/g)) names.add(name)
  return [...names].map((name) => ({ name, description: null, required: null, from: 'readme' }))
}
