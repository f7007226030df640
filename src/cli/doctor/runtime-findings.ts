import type { Api, Schemas } from '../run/service-client.ts'
import { type Finding, type Fix, hint, ok, problem } from './finding.ts'

type Runtime = Schemas['Runtime']

/** The programs that servers need. Without the service, which servers there are is not known. */
export async function runtimeFindings(api: Api, isRunning: boolean): Promise<Finding[]> {
  const { items } = await api.get('/api/runtimes')
  return items.flatMap((runtime) => findingsOf(runtime, api, isRunning))
}

function findingsOf(runtime: Runtime, api: Api, isRunning: boolean): Finding[] {
  const { command, path, version, shell_path, needed_by } = runtime
  const needs = `needed by ${needed_by.join(', ')}`
  const fixes = { fixes: needed_by.map((id) => fixOf(api, id, command, shell_path ?? '')) }
  if (path === null) {
    if (needed_by.length === 0)
      return [{ level: 'none', text: `${command} not found${isRunning ? ' (not needed)' : ''}` }]
    if (shell_path === null) return [problem(missing(runtime, needs))]
    return [{ ...problem(`Only your login shell finds ${command}, at ${shell_path} (${needs})`), ...fixes }]
  }
  if (shell_path !== null && needed_by.length > 0)
    return [
      {
        ...hint(
          `${command} (${needs}) is in the PATH of your shell, but not in that of a program that a desktop or a service manager starts`,
        ),
        ...fixes,
      },
    ]
  if (/[\\/]/.test(command)) return []
  return [ok(version === null ? command : `${command} ${version}`)]
}

/** The message names the folders that were searched, which are many. */
function missing({ command, problem: why }: Runtime, needs: string): string {
  const text = !why || why.code === 'command_not_found' ? `${command} was not found` : why.message
  return `${text} (${needs})${why?.hint ? `. ${why.hint}` : ''}`
}

/** A server that runs keeps its process until its next start. */
const fixOf = (api: Api, id: string, before: string, command: string): Fix => ({
  does: `Set the command of ${id} to ${command}`,
  undo: `toolroom edit ${id} --command ${before}`,
  apply: async () => void (await api.patch('/api/servers/{id}', { path: { id }, body: { command } })),
})
