import path from 'node:path'
import { type ContainerCommand, readContainerCommand } from '../../../kernel/containers/docker-run-command.ts'
import { isGrantable, isInside } from '../../../kernel/grantable-path.ts'
import type { Isolation } from '../../../kernel/isolation-options.ts'
import type { LastError } from '../../../kernel/server-state.ts'
import { follow } from '../followed-path.ts'
import { errorOf, type PathRefusal } from '../path-refusal.ts'
import { insideOf, isOwn } from '../shown-folders.ts'
import type { WrittenFolders } from '../written-folders.ts'
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

export interface ContainerSurroundings {
  readonly home: string
  /** Toolroom's own folders, which no container gets. */
  readonly own: readonly string[]
  readonly written: WrittenFolders
  /** An empty folder. It is mounted where something stays hidden: Podman fills a folder in memory with what was there. */
  readonly empty: string
}

/**
 * The container of a server: what its `docker run` names, or its image, in which its command runs. The limits and the
 * network are those of `isolation_options`.
 */
export function specOf(contained: Contained, surroundings: ContainerSurroundings): Specified {
  const { command, args, env, cwd, options } = contained
  const { home, own } = surroundings
  const run = readContainerCommand(command, args)
  if (run?.ok === false) return notContained(`its command has ${run.cannot.join(', ')}`)
  const expand = (file: string) => (file === '~' || file.startsWith('~/') ? home + file.slice(1) : file)
  const granted = [
    ...options.read.map((file) => samePath(path.resolve(expand(file)), 'read')),
    ...options.write.map((file) => samePath(path.resolve(expand(file)), 'write')),
  ]
  const ofCommand = (run?.container.mounts ?? []).map((bind) => ({ ...bind, source: expand(bind.source) }))
  const named = [...ofCommand, ...granted]
  const followed = followedBinds(named, surroundings)
  if ('why' in followed) return { ok: false, error: errorOf(followed) }
  if (!run && cwd !== null && !named.some(({ target }) => isInside(cwd, target)))
    return {
      ok: false,
      error: errorOf({ why: 'cwd', file: cwd, mayAdd: isGrantable(cwd, { home, own }) }),
    }
  const shown = (binds: readonly Bind[]) =>
    followed
      .filter((bind) => binds.some(({ target }) => target === bind.target))
      .map(({ target, source }) => ({ path: target, source }))
  // A `docker run` keeps its mounts, but Toolroom's own folders are in none.
  const hidden = [...insideOf(shown(named), own), ...insideOf(shown(granted), [home])]
  const isNested = followed.some(
    ({ source, access }) => access === 'read' && followed.some((outer) => isWrittenAround(outer, source)),
  )
  const { network, memory_mb, pids } = options
  const outermost = [...new Set(hidden)].filter(
    (target) => !hidden.some((outer) => outer !== target && isInside(target, outer)),
  )
  const binds = [...followed, ...outermost.map((target) => emptyAt(target, surroundings.empty))]
  const spec = { network, memory_mb, pids, binds, ...(isNested && { isNested }) }
  if (run) return { ok: true, spec: { ...ofRun(run.container, env), ...spec } }
  if (options.image === null) return notContained('its isolation_options name no image')
  const program = { image: options.image, entrypoint: [command], args, env, cwd: cwd ?? undefined }
  return { ok: true, spec: { ...program, ...spec } }
}

/** Where they lead, without links. What may be written is recorded before anything is judged by it. */
function followedBinds(
  binds: readonly Bind[],
  { own, written }: ContainerSurroundings,
): readonly Bind[] | PathRefusal {
  const led: Bind[] = []
  for (const isRecorded of [false, true]) {
    led.length = 0
    for (const bind of binds) {
      const file = bind.source
      if (!file.startsWith('/')) {
        led.push(bind) // a volume
        continue
      }
      const found = follow(path.resolve(file), written.all)
      if (found.found === 'nothing') return { why: 'missing', file }
      if (found.found === 'link') return { why: 'link', file, link: found.link }
      if (isOwn(file, found.path, own)) return { why: 'own', file }
      if (bind.access === 'write' && !isRecorded) written.add([found.path])
      led.push({ ...bind, source: found.path })
    }
  }
  return led
}

const isWrittenAround = (outer: Bind, source: string): boolean =>
  outer.access === 'write' && outer.source !== source && isInside(source, outer.source)

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

const emptyAt = (target: string, empty: string): Bind => ({ source: empty, target, access: 'read' })

const samePath = (path: string, access: Bind['access']): Bind => ({ source: path, target: path, access })

const notContained = (why: string): Specified => ({
  ok: false,
  error: {
    code: 'container_failed',
    message: `The server was not started: its isolation is container, and ${why}`,
    hint: 'Change the server, or set isolation to none to run it without isolation',
    action: { kind: 'change_isolation' },
  },
})
