/** A command as a person would type it: for sh, or for PowerShell on Windows. Masked values are left as they are shown. */
export interface Typed {
  /** Null for the home. Undefined if it does not matter. */
  readonly cwd?: string | null
  readonly env?: Readonly<Record<string, string>>
  readonly words: readonly string[]
}

export const commandLine = (typed: Typed, system: NodeJS.Platform = process.platform): string =>
  system === 'win32' ? inPowerShell(typed) : inSh(typed)

function inSh({ cwd, env = {}, words }: Typed): string {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${shWord(value)}`)
  const command = [...variables, ...words.map(shWord)].join(' ')
  return cwd === undefined ? command : `cd ${cwd === null ? '~' : shWord(cwd)} && ${command}`
}

/** There, variables are set before the command, and `&` runs a program whose path is in quotes. */
function inPowerShell({ cwd, env = {}, words: [program = '', ...args] }: Typed): string {
  const variables = Object.entries(env).map(([name, value]) => `$env:${name} = ${quoted(value)}`)
  const word = powerShellWord(program)
  const command = [word === program ? word : `& ${word}`, ...args.map(powerShellWord)].join(' ')
  const folder = cwd === undefined ? [] : [`cd ${cwd === null ? '~' : powerShellWord(cwd)}`]
  return [...folder, ...variables, command].join('; ')
}

const shWord = (text: string): string =>
  /^[\w@%+=:,./~*-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

const powerShellWord = (text: string): string => (/^[\w+=:./\\~*-]+$/.test(text) ? text : quoted(text))

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
