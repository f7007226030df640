import { join } from 'node:path'
import { outside } from './dependency-walk.ts'
import { objectOf, readJson } from './raw-json.ts'

/** True when a registry that npm uses delivers this version of a package from this URL. */
export type IsRegistryUrl = (name: string, version: string, url: string) => Promise<boolean>

/**
 * Throws unless every package that npm resolved came from the registry. A link, a git repository, a URL of another host
 * or a file is refused, also one that only a package's own lock file names.
 */
export async function checkLock(folder: string, name: string, isRegistryUrl: IsRegistryUrl): Promise<void> {
  const { packages } = readJson(join(folder, 'package-lock.json'))
  for (const [path, raw] of Object.entries(objectOf(packages))) {
    if (path === '') continue
    const { link, inBundle, resolved, version, name: realName } = objectOf(raw)
    const place = PLACE.exec(path)?.[1]
    const isPlain = place !== undefined && link === undefined
    if (isPlain && resolved === undefined && inBundle === true) continue // came with the package that contains it
    const isFromRegistry =
      isPlain &&
      typeof version === 'string' &&
      typeof resolved === 'string' &&
      (await isRegistryUrl(typeof realName === 'string' ? realName : place, version, resolved))
    if (!isFromRegistry) throw outside({ name }, 'it', place ?? path)
  }
}

/** A package in node_modules, or in that of another package. Anything else is a folder somewhere on the disk. */
const PLACE = /^node_modules\/(?:(?:@[^/]+\/)?(?!\.)[^/]+\/node_modules\/)*((?:@[^/]+\/)?(?!\.)[^/]+)$/
