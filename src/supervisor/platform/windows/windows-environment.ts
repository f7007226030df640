import { INHERITED_EVERYWHERE } from '../spawning.ts'

/** The variables that a child inherits. Most programs, and Windows itself, do not work without these. */
export const INHERITED: readonly string[] = [
  'ALLUSERSPROFILE',
  'APPDATA',
  'COMMONPROGRAMFILES',
  'COMMONPROGRAMFILES(X86)',
  'COMMONPROGRAMW6432',
  'COMPUTERNAME',
  'COMSPEC',
  'HOMEDRIVE',
  'HOMEPATH',
  'LOCALAPPDATA',
  'LOGONSERVER',
  'NUMBER_OF_PROCESSORS',
  'OS',
  'PATH',
  'PATHEXT',
  'PROCESSOR_ARCHITECTURE',
  'PROCESSOR_IDENTIFIER',
  'PROGRAMDATA',
  'PROGRAMFILES',
  'PROGRAMFILES(X86)',
  'PROGRAMW6432',
  'PSMODULEPATH',
  'PUBLIC',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'USERDOMAIN',
  'USERNAME',
  'USERPROFILE',
  'WINDIR',
  ...INHERITED_EVERYWHERE,
]

export type Variables = Readonly<Record<string, string | undefined>>

/** The value of a variable, whose name has no case. Of several spellings the last one counts: it was added by the server. */
export function variable(env: Variables, name: string): string | undefined {
  const key = Object.keys(env).findLast((each) => isSame(each, name) && env[each] !== undefined)
  return key === undefined ? undefined : env[key]
}

/** One spelling of each name. A later environment replaces the variables of an earlier one, however they are spelled. */
export function merged(...environments: readonly Variables[]): Record<string, string> {
  const byName = new Map<string, readonly [string, string]>()
  for (const env of environments)
    for (const [name, value] of Object.entries(env))
      if (value !== undefined) byName.set(name.toUpperCase(), [name, value])
  return Object.fromEntries(byName.values())
}

const isSame = (a: string, b: string): boolean => a.toUpperCase() === b.toUpperCase()
