import { maskArgs } from '../../../kernel/secrets/mask-secrets.ts'
import {
  fitName,
  meaningfulPart,
  nameOfPackage,
  nameOfPath,
} from '../../../servers/shared/definition/server-name.ts'
import type { Definition } from '../../translate/translate-definition.ts'
import { shown } from './snippet-error.ts'

/** A URL without user info and white space. The API checks it again. */
export const HTTP_URL = /^https?:\/\/[^/?#@\s]+(?:[/?#]\S*)?$/

const MAX_NOTES = 20

/** Placeholders in READMEs, except references, which have notes of their own. */
const PLACEHOLDER = new RegExp(
  [
    String.raw`\$\(|(?<!\$)\{\{`, // $(pwd), {{x}}
    String.raw`(?<![\w$])\$[A-Z_][A-Z0-9_]*`,
    '%[A-Z_][A-Z0-9_]{2,60}%',
    String.raw`<[A-Za-z][\w .:|/-]{0,80}>`, // <YOUR_KEY>
    '(?<![A-Za-z])[Yy](?:our|OUR)(?:[-_ A-Z]|api|key|token|secret|pass|user|name|org)',
    '(?<![A-Za-z])YOUR(?:[-_ ]|[A-Z]{2})',
    '(?<![A-Za-z])(?:REPLACE|INSERT|ENTER|CHANGE)[-_ ]?(?:ME|THIS|WITH|YOUR|HERE)',
    String.raw`(?<![A-Za-z0-9])(?:[xX]{3,}|\*{3,})(?![A-Za-z0-9])`,
    String.raw`\.\.\.$|\u2026`,
    String.raw`(?:^|[/\\=])path[/\\]to(?:[/\\]|$)`,
    String.raw`[/\\](?:Users|home)[/\\](?:username|yourname|USERNAME)(?:[/\\]|$)`,
  ].join('|'),
)

/** Notes for the user before a server is added. */
export function notesAbout(definition: Definition): string[] {
  return [...programNotes(definition), ...placeholderNotes(definition)]
}

function programNotes(definition: Definition): string[] {
  if (definition.type === 'http') return []
  const { command, args } = definition
  const notes: string[] = []
  if (/^cmd(?:\.exe)?$/i.test(command))
    notes.push('cmd exists only on Windows; on other systems, use the program after /c')
  if (args.some((arg) => /^mcp-remote(?:@|$)/.test(arg))) {
    notes.push('mcp-remote only forwards to a url; you can add that url as an HTTP server instead')
  }
  return notes
}

/** One note for each value that is a placeholder or empty. */
function placeholderNotes(definition: Definition): string[] {
  const open = [...textsOf(definition)].filter(([, value]) => PLACEHOLDER.test(value))
  const notes = open.map(([label]) => `${label} contains a placeholder`)
  const empty = definition.type === 'stdio' ? Object.entries(definition.env).filter(([, v]) => v === '') : []
  notes.push(...empty.map(([key]) => `env ${shown(key)} is empty`))
  if (notes.length <= MAX_NOTES) return notes
  return [
    ...notes.slice(0, MAX_NOTES),
    `${notes.length - MAX_NOTES} more values contain a placeholder or are empty`,
  ]
}

function* textsOf(definition: Definition): Generator<readonly [label: string, value: string]> {
  if (definition.type === 'http') {
    yield ['url', definition.url]
    for (const [key, value] of Object.entries(definition.headers)) yield [`header ${shown(key)}`, value]
    return
  }
  yield ['command', definition.command]
  for (const [index, value] of definition.args.entries()) yield [`argument ${index + 1}`, value]
  for (const [key, value] of Object.entries(definition.env)) yield [`env ${shown(key)}`, value]
  if (definition.cwd !== undefined) yield ['cwd', definition.cwd]
}

/** A valid name for a server without one, from its package, image, script or host. */
export function deriveName(definition: Definition): string {
  const found = definition.type === 'http' ? hostOf(definition.url) : targetName(definition)
  return fitName(found ?? '') || 'server'
}

function hostOf(url: string): string | undefined {
  return /^https?:\/\/([^/?#:]+)/i.exec(url)?.[1]
}

const RUNNERS =
  /^(?:npx|pnpx|bunx|uvx|dnx|npm|pnpm|yarn|bun|uv|pipx|deno|node|python[\d.]*|py|go|java|dotnet)$/
const SUBCOMMANDS = /^(?:exec|x|dlx|run|tool)$/
const WITH_VALUE =
  /^(?:-p|--(?:package|from|with|with-editable|python|directory|project|registry|index-url))$/
const DOCKER_WITH_VALUE =
  /^(?:-[evpwulmh]|--(?:env|env-file|volume|mount|name|network|net|publish|workdir|user|entrypoint|platform|add-host|label|memory|hostname|pull|gpus|cpus))$/

function targetName({ command, args }: { command: string; args: readonly string[] }): string | undefined {
  const program = (command.slice(-MAX_TARGET).split(/[\\/]/).at(-1) ?? '').replace(/\.(?:exe|cmd|bat)$/i, '')
  if (program.toLowerCase() === 'cmd' && /^\/c$/i.test(args[0] ?? '')) {
    const [, inner = '', ...rest] = args
    return targetName({ command: inner, args: rest })
  }
  const isDocker = /^(?:docker|podman)$/.test(program)
  if (!isDocker && !RUNNERS.test(program)) return plain(program)
  const target = targetOf(args, isDocker ? DOCKER_WITH_VALUE : WITH_VALUE)
  if (target === undefined) return program
  if (isDocker) return nameOfPath(partsOf(target.replace(/@sha256:.*$/, '').replace(/:[^/:]*$/, '')))
  if (/^mcp-remote(?:@|$)/.test(target))
    return hostOf(args.find((arg) => /^https?:/.test(arg)) ?? '') ?? 'mcp-remote'
  return packageName(target) ?? program
}

const MAX_TARGET = 256

/** The first argument that is neither an option nor the value of one, unless it looks like a secret. */
function targetOf(args: readonly string[], withValue: RegExp): string | undefined {
  let index = 0
  for (let arg = args[0]; arg !== undefined; arg = args[index]) {
    if (withValue.test(arg)) index += 2
    else if (arg.startsWith('-') || SUBCOMMANDS.test(arg)) index += 1
    else return isPlain(arg, args[index - 1]) ? arg : undefined
  }
  return undefined
}

function isPlain(arg: string, before = ''): boolean {
  if (arg.length > MAX_TARGET || before.length > MAX_TARGET) return false
  return maskArgs([before, arg])[1] === arg
}

/** `@scope/server-x@1.2.3`, `mcp-server-x==1`, `git+https://host/me/x.git`, `/path/x/dist/index.js` → `x` */
function packageName(target: string): string | undefined {
  if (/^@[^/]+\/[^/]+$/.test(target) || !/[\\/]/.test(target)) return nameOfPackage(withoutEnding(target))
  return target.includes('://') ? nameOfPath(partsOf(target)) : plain(target)
}

const GENERIC =
  /^(?:index|main|server|cli|app|run|start|build|dist|src|lib|out|bin|to|path|absolute|__main__)$/i

const partsOf = (path: string): string[] =>
  path
    .split(/[\\/]/)
    .filter((part) => part !== '' && !part.endsWith(':'))
    .map(withoutEnding)

const withoutEnding = (part: string): string =>
  part.replace(/\.(?:git|[cm]?[jt]s|py|jar|dll)(?:[@#].*)?$/i, '')

/** The last specific part of a path, without words such as `mcp-server`. */
function plain(path: string): string | undefined {
  const names = partsOf(path)
  const specific = names.findLast((name) => !GENERIC.test(name)) ?? names.at(-1)
  return specific === undefined ? undefined : (meaningfulPart(specific) ?? specific)
}
