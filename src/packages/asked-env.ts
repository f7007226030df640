import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { AskedEnv } from './package-store.ts'
import { objectOf, readJson } from './raw-json.ts'

const MOST_README = 512 * 1024
const MOST = 30
const NAME = /^[A-Z][A-Z0-9_]{2,63}$/

/** Which variables a package asks for, as far as its own papers tell: its server.json, else the examples in its README. */
export function askedEnv(folder: string): AskedEnv[] {
  const described = fromManifest(folder)
  return (described.length > 0 ? described : fromReadme(folder)).slice(0, MOST)
}

function fromManifest(folder: string): AskedEnv[] {
  const { packages } = readJson(join(folder, 'server.json'))
  const lists = Array.isArray(packages) ? packages.map(objectOf) : []
  return lists.flatMap((each) => {
    const variables = each.environmentVariables ?? each.environment_variables
    return (Array.isArray(variables) ? variables : []).map(objectOf).flatMap((one): AskedEnv[] => {
      const { name, description } = one
      if (typeof name !== 'string' || !NAME.test(name)) return []
      const required = one.isRequired ?? one.is_required
      return [
        {
          name,
          description: typeof description === 'string' ? description.slice(0, 300) : null,
          required: typeof required === 'boolean' ? required : null,
          from: 'server.json',
        },
      ]
    })
  })
}

/** The names in `"env": { … }` of the snippets that people are told to paste. */
function fromReadme(folder: string): AskedEnv[] {
  const path = ['README.md', 'readme.md', 'Readme.md'].map((name) => join(folder, name)).find(existsSync)
  if (path === undefined || statSync(path).size > MOST_README) return []
  const text = readFileSync(path, 'utf8')
  const names = new Set<string>()
  for (const [, inside = ''] of text.matchAll(/"env"\s*:\s*\{([^}]{0,2000})\}/g))
    for (const [, name = ''] of inside.matchAll(/"([A-Z][A-Z0-9_]{2,63})"\s*:/g)) names.add(name)
  return [...names].map((name) => ({ name, description: null, required: null, from: 'readme' }))
}
