import type { RepairAction } from '../../kernel/repair-action.ts'
import type { AnyServer } from './any-server.ts'

type Broken = Pick<AnyServer, 'id' | 'type'> & { readonly last_error?: AnyServer['last_error'] }

/** The command line that repairs a server, or shows more. `...` stands for what only the user knows. */
export function repairOf(server: Broken): string {
  const usual: RepairAction = { kind: server.type === 'stdio' ? 'see_log' : 'check' }
  return repairCommand(server.last_error?.action ?? usual, server.id)
}

/** What to type, for the one line that a list has: also the repair, unless `toolroom why` has to say of which variable. */
export function whyOrRepair(server: Broken): string {
  const action = server.last_error?.action
  const why = `toolroom why ${server.id}`
  return action?.kind === 'edit_variables' && action.name === null ? why : `${why}, or ${repairOf(server)}`
}

/** One command for each action, which every command suggests. The dashboard makes a button of it. `id`: of the server. */
export function repairCommand(action: RepairAction, id = ''): string {
  const edit = (...words: string[]) => ['toolroom edit', id, ...words].join(' ')
  switch (action.kind) {
    case 'set_secret':
      return `toolroom secrets set ${word(action.name)}`
    case 'set_environment':
      return `toolroom down, then ${action.name}=... toolroom up`
    case 'set_variable':
      return edit(`--env ${word(action.name)}=...`)
    case 'edit_variables':
      return edit(action.name === null ? '--env NAME=...' : `--env ${word(action.name)}=...`)
    case 'edit_command':
    case 'edit_arguments':
      return edit('-- COMMAND ...')
    case 'edit_folder':
      return edit('--cwd ...')
    case 'edit_url':
      return edit('--address ...')
    case 'edit_headers':
      return edit('--header NAME=...')
    case 'install_runtime':
      return edit(`--command .../${word(action.program)}`)
    case 'install_package':
    case 'reinstall_package':
      return `toolroom install ${word(action.package)}`
    case 'allow_scripts':
      return `toolroom install ${word(action.package)} --allow-scripts`
    case 'allow_outgoing':
      return `toolroom allow ${id}`
    case 'login':
      return `toolroom login ${id}`
    case 'pull_image':
      return `toolroom images pull ${word(action.image)}`
    case 'change_isolation':
      return edit('--isolation ...')
    case 'grant_path':
      return edit(`--${action.access} ${word(action.path)}`)
    case 'start':
    case 'start_docker':
      return `toolroom restart ${id}`
    case 'check':
      return `toolroom test ${id}`
    case 'see_log':
      return `toolroom logs ${id}`
    case 'approve_tools':
      return `toolroom review ${id}`
    case 'see_difference':
      return `toolroom agents diff ${action.agent_type}`
    case 'see_file':
      return `toolroom agents show ${action.agent_type}`
    case 'update_package':
      return `toolroom update ${word(action.package)}`
    case 'see_package':
      return 'toolroom outdated'
    case 'end_processes':
      return 'toolroom orphans'
    case 'free_disk':
      return 'toolroom doctor'
    case 'rotate_token':
      return 'toolroom token rotate'
    case 'see_settings':
      return 'toolroom config get'
  }
}

/** For a shell. */
const word = (text: string): string =>
  /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
