import { maskCommand } from '../../../kernel/secrets/mask-secrets.ts'
import type { References } from '../../shared/definition/resolved-references.ts'
import type { Server } from '../servers.schema.ts'
import type { Runtime } from './actions.schema.ts'
import type { FindProgram } from './diagnose.ts'

interface Deps {
  readonly references: Pick<References, 'resolve'>
  readonly findProgram: FindProgram
  /** The PATH of the user's login shell. Undefined if it is not known. */
  readonly shellPath: () => Promise<string | undefined>
}

type Wanted = Parameters<FindProgram>[0]

/** What most servers need. Listed even if none is registered that does. */
const COMMON = ['node', 'npm', 'npx', 'uvx', 'docker', 'python3']
/** What programs get that a desktop or a service manager starts. */
const DESKTOP_PATH =
  process.platform === 'darwin'
    ? '/usr/bin:/bin:/usr/sbin:/sbin'
    : '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The programs that these servers run, and where a start finds them. Starts none of them, but the login shell. */
export async function runtimesOf(servers: readonly Server[], deps: Deps): Promise<Runtime[]> {
  const shell = await deps.shellPath()
  const rows = new Map<string, Runtime>()
  for (const { wanted, ids } of distinct(servers, deps.references)) {
    const found = runtimeOf(wanted, shell, deps.findProgram)
    const key = JSON.stringify(found)
    rows.set(key, { ...found, needed_by: [...(rows.get(key)?.needed_by ?? []), ...ids] })
  }
  return [...rows.values()]
}

/** Servers with the same command in the same place need one look at the disk. */
function distinct(servers: readonly Server[], references: Deps['references']) {
  const all = new Map<string, { readonly wanted: Wanted; readonly ids: string[] }>()
  const add = (wanted: Wanted, ids: readonly string[]) => {
    const { PATH, HOME } = wanted.env
    const key = JSON.stringify([wanted.command, wanted.cwd, PATH, HOME])
    const known = all.get(key)
    if (known) known.ids.push(...ids)
    else all.set(key, { wanted, ids: [...ids] })
  }
  for (const command of COMMON) add({ command, env: {}, cwd: null }, [])
  for (const server of servers) {
    if (server.package !== null) continue // runs with the Node.js of Toolroom
    const resolved = references.resolve(server.id, server)
    const { env, cwd } = resolved.ok ? resolved.definition : server
    add({ command: server.command, env, cwd }, [server.id])
  }
  return all.values()
}

function runtimeOf(wanted: Wanted, shell: string | undefined, findProgram: FindProgram): Runtime {
  const found = findProgram(wanted)
  const path = found.ok ? found.path : null
  return {
    command: maskCommand(wanted.command),
    path,
    version: path === process.execPath ? process.versions.node : null,
    problem: found.ok ? null : { code: found.code, message: found.message, hint: found.hint },
    shell_path: shell === undefined || wanted.env.PATH !== undefined ? null : onlyIn(shell),
    needed_by: [],
  }

  function onlyIn(PATH: string): string | null {
    const findIn = (path: string) => findProgram({ ...wanted, env: { ...wanted.env, PATH: path } })
    if (findIn(DESKTOP_PATH).ok) return null
    const inShell = findIn(PATH)
    return inShell.ok ? inShell.path : null
  }
}
