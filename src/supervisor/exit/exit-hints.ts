import path from 'node:path'

/** What had been started. */
export interface Started {
  readonly args: readonly string[]
}

type Match = RegExpExecArray

/** The missing thing is the script that args name, or something that the script needs. */
export function moduleHint({ 1: missing, input }: Match, { args }: Started): string {
  const from = /imported from ([^ ]{1,500})/.exec(input)?.[1] ?? / - (\/[^ ]{1,500})/.exec(input)?.[1]
  const folder = from === undefined ? undefined : packageFolder(from)
  if (missing === undefined) return `Install its dependencies${folder ? ` in ${folder}` : ''}`
  if (isPath(missing) && isNamed(missing, args)) {
    return `Correct the path ${missing} in args, or build the project that makes this file`
  }
  if (folder?.includes('/_npx/')) return `Delete ${folder}, so that npx installs the package again`
  if (isPath(missing)) return `Build or install it again: its file ${missing} is missing`
  if (isNamed(missing, args)) return `Install ${missing} where it runs, or take it out of args`
  return folder === undefined
    ? `Install its dependencies in its folder: ${missing} is missing`
    : `Install its dependencies: run npm install in ${folder}`
}

export function pythonModuleHint({ 1: missing = 'it' }: Match, { args }: Started): string {
  return args[args.indexOf('-m') + 1] === missing
    ? `Install ${missing} for this Python, or correct the name after -m in args`
    : `Install its dependencies for the Python that runs it, for example: pip install ${missing.split('.')[0]}`
}

export function nativeHint({ input }: Match): string {
  const library = /(\S{1,200}): cannot open shared object file/.exec(input)?.[1]
  if (library !== undefined) return `Install the library ${library} on this computer, then start it again`
  const folder = /(\/[^ ']{1,500}?)\/node_modules\//.exec(input)?.[1]
  if (folder?.includes('/_npx/')) {
    return `Delete ${folder} and allow install scripts, so that npx builds the package for this Node.js`
  }
  const where = folder === undefined ? 'in its folder' : `in ${folder}`
  return `Install it again for this Node.js and with its install scripts allowed, or run npm rebuild ${where}`
}

export function packageHint(match: Match): string {
  const { input } = match
  const version = /No matching version found for (\S{1,250}?)\.?(?: |$)/.exec(input)?.[1]
  if (version !== undefined) return `Correct the version in args: there is no ${version}`
  const name =
    match.slice(1).find((group) => group !== undefined) ??
    /'(@?[^'@ ]{1,214})(?:@[^' ]{0,100})?' (?:could not be found|is not in)/.exec(input)?.[1]
  return name === undefined
    ? 'Correct the name of the package in args: it was not found'
    : `Correct the name of the package in args: there is no ${name}, or you may not see it`
}

export function portHint({ input }: Match): string {
  const port = /(?::|\bport:? |, )(\d{2,5})\b(?![.\d])/i.exec(input)?.[1]
  return port === undefined
    ? 'Stop the program that has its port, or give this one another port'
    : `Stop the program that has port ${port}, or give this one another port`
}

export function commandHint(match: Match): string {
  const program = firstGroup(match)
  return program === undefined
    ? 'Install the program, or give its full path'
    : `Install ${program}, correct its name, or give its full path`
}

export function fileHint(match: Match, { args }: Started): string {
  const file = firstGroup(match)
  if (file === undefined) return 'Correct the paths in args and env, or set cwd to the folder they start from'
  if (path.posix.basename(file) === 'package.json') return 'Set cwd to the folder that has package.json'
  return isNamed(file, args)
    ? `Correct the path ${file} in args, or create it`
    : `Create ${file}, or correct the setting that names it`
}

export function permissionHint(match: Match): string {
  const file = firstGroup(match)
  return file === undefined
    ? 'Let your user read and write what it needs, or give it another folder'
    : `Let your user use ${file}, or give it another path`
}

export function settingHint({ input }: Match): string {
  const names = settingNames(input)
  return names.length === 0
    ? 'Set what it asks for in env, or give it in args'
    : `Set ${names.join(' and ')} in env`
}

const NO_SETTING = /^(?:ERR|E|NODE_MODULE|MODULE_NOT)_/

/** GITHUB_TOKEN tells itself; TOKEN does only where the sentence speaks of it. */
function settingNames(text: string): string[] {
  const long = text.match(/\b[A-Z][A-Z0-9]{0,40}(?:_[A-Z0-9]{1,40}){1,8}\b/g) ?? []
  const short = text.match(/\b[A-Z][A-Z0-9]{3,40}\b(?= (?:is|was|must|needs|not|env|environment)\b)/g) ?? []
  const names = [...new Set(long.filter((name) => !NO_SETTING.test(name)))]
  return (names.length > 0 ? names : [...new Set(short)]).slice(0, 4)
}

const firstGroup = (match: Match): string | undefined => match.slice(1).find((group) => group !== undefined)
const isPath = (name: string): boolean => /^(?:\.{0,2}\/|[A-Za-z]:[\\/]|file:)/.test(name)

/** `dist/index.js` in args is /home/me/dist/index.js in the error. */
function isNamed(name: string, args: readonly string[]): boolean {
  return args.some((arg) => {
    const plain = arg.replace(/^(?:\.{1,2}\/)+|^~\//, '')
    return plain !== '' && (name === arg || name.endsWith(`/${plain}`))
  })
}

/** The folder to install in: that of the file, or the one around node_modules. */
function packageFolder(file: string): string {
  const inside = file.indexOf('/node_modules/')
  if (inside >= 0) return file.slice(0, inside)
  return file.endsWith('/') && file.length > 1 ? file.slice(0, -1) : path.posix.dirname(file)
}
