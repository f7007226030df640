import { existsSync } from 'node:fs'
import { type ContainerCommand, readContainerCommand } from '../../../kernel/containers/docker-run-command.ts'
import type { Isolation } from '../../../kernel/isolation-options.ts'
import type { LastError } from '../../../kernel/server-state.ts'
import type { Bind, ContainerSpec } from './create-request.ts'

/** A server that runs in a container, with its references resolved. */
export interface Contained {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | null
  readonly options: Isolation['isolation_options']
}

type Specified =
  | { readonly ok: true; readonly spec: ContainerSpec }
  | { readonly ok: false; readonly error: LastError }

/**
 * The container of a server: what its `docker run` names, or its image, in which its command runs. The limits and the
 * network are those of `isolation_options`.
 */
export function specOf(contained: Contained, home: string): Specified {
  const { command, args, env, cwd, options } = contained
  const run = readContainerCommand(command, args)
  if (run?.ok === false) return notContained(`its command has ${run.cannot.join(', ')}`)
  const expand = (file: string) => (file === '~' || file.startsWith('~/') ? home + file.slice(1) : file)
  const named = [
    ...(run?.container.mounts ?? []),
    ...options.read.map((file) => samePath(expand(file), 'read')),
    ...options.write.map((file) => samePath(expand(file), 'write')),
  ].map((bind) => ({ ...bind, source: expand(bind.source) }))
  const binds = run || cwd === null ? named : withCwd(named, cwd)
  const missing = binds.find(({ source }) => source.startsWith('/') && !existsSync(source))
  if (missing) return pathNotFound(missing.source)
  const { network, memory_mb, pids } = options
  const limits = { network, memory_mb, pids, binds }
  if (run) return { ok: true, spec: { ...ofRun(run.container, env), ...limits } }
  if (options.image === null) return notContained('its isolation_options name no image')
  const own = { image: options.image, entrypoint: [command], args, env, cwd: cwd ?? undefined }
  return { ok: true, spec: { ...own, ...limits } }
}

function ofRun(run: ContainerCommand, env: Contained['env']) {
  const { image, args, entrypoint, cwd, user } = run
  const values = Object.entries(run.env).flatMap(([name, value]) => {
    const own = value ?? (Object.hasOwn(env, name) ? env[name] : undefined)
    return own === undefined ? [] : [[name, own] as const]
  })
  return {
    image,
    args,
    entrypoint: entrypoint === null ? undefined : [entrypoint],
    env: Object.fromEntries(values),
    cwd: cwd ?? undefined,
    user: user ?? undefined,
  }
}

const samePath = (path: string, access: Bind['access']): Bind => ({ source: path, target: path, access })

/** The working folder is readable, unless it is in a folder that is there already. */
function withCwd(binds: readonly Bind[], cwd: string): readonly Bind[] {
  const isThere = binds.some(({ target }) => cwd === target || cwd.startsWith(`${target}/`))
  return isThere ? binds : [...binds, samePath(cwd, 'read')]
}

const notContained = (why: string): Specified => ({
  ok: false,
  error: {
    code: 'container_failed',
    message: `The server was not started: its isolation is container, and ${why}`,
    hint: 'Change the server, or set isolation to none to run it without isolation',
    action: { kind: 'change_isolation' },
  },
})

const pathNotFound = (file: string): Specified => ({
  ok: false,
  error: {
    code: 'path_not_found',
    message: `The server was not started: ${file}, which its container needs, does not exist`,
    hint: 'Create it, or remove it from the server',
    action: { kind: 'change_isolation' },
  },
})
