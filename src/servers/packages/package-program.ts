import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../../kernel/errors.ts'
import type { RepairAction } from '../../kernel/repair-action.ts'
import type { Program } from '../../kernel/server-plan.ts'
import type { PackageFolders } from './package-folders.ts'
import { packageFolder } from './package-folders.ts'
import type { InstalledVersion, PackageRecord, PackageStore } from './package-record.ts'

/** By its name or its id. Throws an AppError. */
export function findPackage(records: readonly PackageRecord[], key: string): PackageRecord {
  const record = records.find(({ name }) => name === key) ?? records.find(({ id }) => id === key)
  if (record) return record
  const message = `No package with the name or id '${key.slice(0, 100)}' is installed`
  throw new AppError('package_not_found', message)
}

/** As npx chooses: the only program, else the one named like the package. Throws when neither exists. */
export function chooseBin({ name, current }: PackageRecord, wanted: string | undefined): string {
  const bins = Object.keys(current.bin)
  if (wanted !== undefined) {
    if (bins.includes(wanted)) return wanted
    throw unclear(`'${name}' has no program '${wanted.slice(0, 100)}'`, bins)
  }
  const short = name.replace(/^@[^/]+\//, '')
  const [only] = bins
  if (only === undefined) throw unclear(`'${name}' has no program, so no server can be created from it`, bins)
  if (bins.length === 1) return only
  if (bins.includes(short)) return short
  const files = new Set(Object.values(current.bin))
  if (files.size === 1) return only // several names of the same file
  throw unclear(`'${name}' has several programs`, bins)
}

/** What the servers of installed packages run. */
export const installedPrograms =
  (store: Pick<PackageStore, 'all'>, folders: Pick<PackageFolders, 'current'>) =>
  (name: string, program: string): Program =>
    installedProgram(
      folders,
      name,
      store.all().find((record) => record.name === name),
      program,
    )

/** What a server of this package runs, checked on the disk. */
function installedProgram(
  folders: Pick<PackageFolders, 'current'>,
  name: string,
  record: PackageRecord | undefined,
  program: string,
): Program {
  if (!record)
    return missing(`The package '${name}' is not installed`, 'Install it, or delete the server', {
      kind: 'install_package',
      package: name,
    })
  const { bin } = record.current
  const known = Object.hasOwn(bin, program) ? program : Object.keys(bin)[0]
  const { command, args } = programAt(folders.current(record), name, record.current, known ?? '')
  return known !== undefined && existsSync(args[0] ?? command)
    ? { ok: true, command, args, ...skippedIn(name, record.current) }
    : missing(`The program for the package '${name}' is missing from the disk`, 'Install the package again', {
        kind: 'reinstall_package',
        package: name,
      })
}

const skippedIn = (name: string, { scripts, scripts_ran }: InstalledVersion) =>
  scripts_ran || scripts.length === 0 ? {} : { skippedScripts: { package: name, of: scripts } }

const missing = (message: string, hint: string, action: RepairAction): Program => ({
  ok: false,
  error: { code: 'package_not_found', message, hint, action },
})

/** The file of a program, run with the Node that runs Toolroom. */
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
    hint: bins.length > 0 ? `Choose one of: ${bins.join(', ')}` : 'Choose another package',
  })
