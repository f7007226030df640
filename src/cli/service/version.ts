import { VERSION } from '../../kernel/version.ts'
import type { Context, Run } from '../run/command-context.ts'
import { Failure } from '../run/failure.ts'

/** `toolroom version` */
export const showVersion: Run = async (context) => {
  const service = await running(context)
  return {
    json: { version: VERSION, node: process.versions.node, service },
    lines: [
      `Toolroom ${VERSION}, Node.js ${process.versions.node}`,
      service ? `Service ${service.version} at ${service.address}` : 'The service is not running',
    ],
    plain: [[VERSION, process.versions.node, service?.version]],
    next:
      service && service.version !== VERSION
        ? 'The service runs another version. Restart it: toolroom down, then toolroom up'
        : undefined,
  }
}

/** The running service; null if none is reached. */
async function running(context: Context): Promise<{ version: string; address: string } | null> {
  try {
    const { version } = await context.api.get('/api/health')
    return { version, address: context.service.address }
  } catch (error) {
    if (error instanceof Failure && error.exit === 'not_running') return null
    throw error
  }
}
