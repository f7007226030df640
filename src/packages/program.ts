import { join } from 'node:path'
import { AppError } from '../kernel/errors.ts'
import { packageFolder } from './inspect.ts'
import type { InstalledVersion, PackageRecord } from './package-store.ts'

/** As npx does: the only one, else the one that has the package's name, else somebody must say. */
export function chooseBin({ name, current }: PackageRecord, wanted: string | undefined): string {
  const bins = Object.keys(current.bin)
  if (wanted !== undefined) {
    if (bins.includes(wanted)) return wanted
    throw unclear(`'${name}' has no program '${wanted.slice(0, 100)}'`, bins)
  }
  const short = name.replace(/^@[^/]+\//, '')
  const [only] = bins
  if (only === undefined) throw unclear(`'${name}' brings no program, so no server can be made from it`, bins)
  if (bins.length === 1) return only
  if (bins.includes(short)) return short
  const files = new Set(Object.values(current.bin))
  if (files.size === 1) return only // several names for the same thing
  throw unclear(`'${name}' brings several programs`, bins)
}

/** What to run: the file itself, with the Node that runs us. */
export function programAt(
  folder: string,
  name: string,
  { bin, direct }: InstalledVersion,
  program: string,
): { command: string; args: string[] } {
  const file = join(packageFolder(folder, name), bin[program] ?? '')
  return direct.includes(program) ? { command: file, args: [] } : { command: process.execPath, args: [file] }
}

const unclear = (message: string, bins: readonly string[]): AppError =>
  new AppError('bin_unclear', message, {
    members: { bins },
    hint: bins.length > 0 ? `Say which one: ${bins.join(', ')}` : 'Choose another package',
  })
