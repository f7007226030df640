import { existsSync } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join, normalize, sep } from 'node:path'
import { AppError } from '../../kernel/errors.ts'
import { readForeignHead } from '../../kernel/files/foreign-file.ts'
import { envHints } from './environment-hints.ts'
import { objectOf, type Raw, readJson } from './foreign-json.ts'
import { packageFolder } from './package-folders.ts'
import type { InstalledVersion } from './package-record.ts'
import type { Chosen } from './registry/npm-registry.ts'

/** Reads what npm installed into a folder. Throws when it is not the chosen version and file. */
export async function readInstalled(
  folder: string,
  chosen: Chosen,
  facts: { readonly scriptsRan: boolean; readonly now: number },
): Promise<InstalledVersion> {
  const own = packageFolder(folder, chosen.name)
  const manifest = readJson(join(own, 'package.json'))
  const lock = readJson(join(folder, 'package-lock.json'))
  const entries = Object.entries(objectOf(lock.packages))
  const locked = objectOf(entries.find(([path]) => path === `node_modules/${chosen.name}`)?.[1])
  if (manifest.version !== chosen.version || locked.version !== chosen.version)
    throw wrong(chosen, `npm installed ${String(manifest.version ?? 'nothing')} instead`)
  const integrity = typeof locked.integrity === 'string' ? locked.integrity : null
  if (chosen.integrity !== null && integrity !== null && !shares(integrity, chosen.integrity))
    throw wrong(chosen, "the downloaded file does not match the registry's digest")
  const bin = binsOf(manifest, chosen.name, own)
  return {
    version: chosen.version,
    requested: chosen.requested,
    bin,
    direct: Object.keys(bin).filter((name) => !isForNode(join(own, bin[name] ?? ''))),
    size_bytes: await sizeOf(folder),
    integrity: integrity ?? chosen.integrity,
    license: chosen.license,
    deprecated: chosen.deprecated,
    engines: chosen.engines,
    scripts: entries
      .filter(([, entry]) => objectOf(entry).hasInstallScript === true)
      .map(([path]) => path.replace(/^.*node_modules\//, '')),
    scripts_ran: facts.scriptsRan,
    asks_for_env: envHints(own),
    installed_at: facts.now,
  }
}

/** Each may list several digests of the same file. */
const shares = (a: string, b: string): boolean =>
  a.split(/\s+/).some((digest) => b.split(/\s+/).includes(digest))

/** Programs inside the package's folder. Paths that lead out of it are ignored. */
function binsOf(manifest: Raw, name: string, folder: string): Record<string, string> {
  const { bin } = manifest
  const short = name.replace(/^@[^/]+\//, '')
  const named: [string, unknown][] = typeof bin === 'string' ? [[short, bin]] : Object.entries(objectOf(bin))
  return Object.fromEntries(
    named.flatMap(([program, file]): [string, string][] => {
      if (typeof file !== 'string' || !/^[\w.@-]{1,128}$/.test(program)) return []
      const path = normalize(file)
      if (path.startsWith('..') || path.startsWith(sep) || !existsSync(join(folder, path))) return []
      return [[program, path]]
    }),
  )
}

/** Judged by the file extension, or by the interpreter in the first line. */
function isForNode(file: string): boolean {
  if (/\.(?:js|mjs|cjs)$/.test(file)) return true
  const head = readForeignHead(file, 100)
  return /^#!.*\bnode\b/.test(head.toString('latin1').split('\n', 1)[0] ?? '')
}

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  let bytes = 0
  for (const file of files) bytes += (await lstat(join(file.parentPath, file.name))).size
  return bytes
}

const wrong = ({ name, version }: Chosen, why: string): AppError =>
  new AppError('install_failed', `'${name}' ${version} was not installed: ${why}`, {
    hint: 'Check which registry npm uses: npm config get registry',
  })
