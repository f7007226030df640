import { type ChildProcessByStdio, type SpawnOptions, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import type { Holder, Launch } from '../platform.ts'
import { environmentOf, toldTo, variableOf } from '../spawning.ts'

export type Spawned = ChildProcessByStdio<Writable, Readable, Readable>

/** Starts a process, or one that holds it. `inherited` are names of variables. */
export function startedOnUnix(
  launch: Launch,
  inherited: readonly string[],
  more: SpawnOptions = {},
): Spawned {
  const { path, args, cwd, holder } = launch
  const options: SpawnOptions = { cwd, shell: false, ...more }
  options.detached = true // a process group of its own, to signal it together with its children
  if (holder) return startedHolder(launch, holder, inherited, options)
  return spawn(path, args, { ...options, env: environmentOf(launch, inherited), stdio: STREAMS }) as Spawned
}

const STREAMS: ('pipe' | 'ignore' | number)[] = ['pipe', 'pipe', 'pipe']

function startedHolder(
  launch: Launch,
  holder: Holder,
  inherited: readonly string[],
  options: SpawnOptions,
): Spawned {
  const nothing = openSync('/dev/null', 'r')
  try {
    const inputs = [toldTo(holder, launch, inherited), ...holder.descriptors]
    const stdio = [...STREAMS, ...inputs.map((each) => (typeof each === 'number' ? each : ('pipe' as const)))]
    for (const each of holder.inherited) {
      while (stdio.length < each) stdio.push('ignore') // as it is: closed
      if (stdio[each] === undefined || stdio[each] === 'ignore') stdio[each] = nothing
    }
    const groups = holder.leavesGroups ? { uid: 0, gid: 0 } : {}
    const env = variableOf(launch.mark)
    const child = spawn(launch.path, launch.args, { ...options, ...groups, env, stdio }) as Spawned
    for (const [index, bytes] of inputs.entries()) {
      if (typeof bytes === 'number') continue
      // Without file handles there are no streams, and the start fails.
      const input = child.stdio?.[STREAMS.length + index] as Writable | undefined
      input?.on('error', () => {}) // it has ended before it read them
      input?.end(bytes)
    }
    return child
  } finally {
    closeSync(nothing)
    holder.close()
  }
}
