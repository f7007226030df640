import { readContainerCommand } from '../../kernel/containers/docker-run-command.ts'
import type { StdioServer } from '../run/any-server.ts'
import type { Confinement } from './isolation.ts'

interface Failed {
  readonly code: string
  readonly hint?: string | null
}

const UNAVAILABLE = ['sandbox_unavailable', 'engine_unavailable']

/** What helps a server that did not start: sentences with the command in them. */
export function adviceFor(
  { code, hint }: Failed,
  server: StdioServer,
  confinement: Confinement = server,
): string[] {
  if (code === 'image_not_found') {
    const image = imageOf(server, confinement)
    if (image !== undefined) return [`Download the image with toolroom images pull ${image}`]
  }
  const own = hint ? [hint] : []
  if (!UNAVAILABLE.includes(code)) return own
  return [...own, `Or let it run without isolation: toolroom edit ${server.id} --isolation none`]
}

/** That of its `docker run`, or of the options. */
function imageOf({ command, args }: StdioServer, { isolation_options }: Confinement): string | undefined {
  const run = readContainerCommand(command, args)
  return run?.ok ? run.container.image : (isolation_options.image ?? undefined)
}
