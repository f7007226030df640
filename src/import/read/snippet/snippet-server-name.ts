import { maskArgs } from '../../../kernel/secrets/mask-secrets.ts'
import {
  fitName,
  meaningfulPart,
  nameOfPackage,
  nameOfPath,
} from '../../../servers/shared/definition/server-name.ts'
import type { Definition } from '../../translate/translate-definition-references.ts'

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
