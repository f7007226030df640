import { usage } from '../run/failure.ts'
import { findNamed } from '../run/find-named.ts'
import type { Api, Schemas } from '../run/service-client.ts'

export type Package = Schemas['Package']

/** The installed packages with these names or ids. */
export async function packagesNamed(api: Api, names: readonly string[]): Promise<Package[]> {
  const { items } = await api.get('/api/packages')
  return names.map((name) => findNamed(items, name, 'installed package'))
}

/** `@scope/name@1.2.0` → its name, and the version or tag. */
export function splitSpec(spec: string): { name: string; version?: string } {
  const at = spec.indexOf('@', 1)
  if (at === -1) return { name: spec }
  const version = spec.slice(at + 1)
  if (version === '') throw usage(`'${spec}' has no version after @`, null)
  return { name: spec.slice(0, at), version }
}
