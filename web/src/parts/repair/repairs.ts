import type { RepairAction } from '../../data/api.ts'
import type { Server } from '../../data/servers.ts'
import { t } from './messages.ts'

/** What helps a server that does not work. */
export const actionOf = ({ last_error, type }: Server): RepairAction =>
  last_error?.action ?? { kind: type === 'stdio' ? 'see_log' : 'check' }

/** What the button of an action says. Every place shows the same. */
export function labelOf(action: RepairAction): string {
  switch (action.kind) {
    case 'edit_variables':
      return action.name === null ? t('edit_variables') : t('edit_variable', { name: action.name })
    case 'start_docker':
      return t('start')
    default: {
      const { kind, ...about } = action
      return say(kind, about)
    }
  }
}

/** The texts of the other actions are named after them, and so are their values. */
const say = t as unknown as (key: RepairAction['kind'], values: object) => string

/** The page that the button opens. Undefined for an action that is done in place. */
export function routeOf(action: RepairAction, serverId: string): string | undefined {
  const server = `/servers/${serverId}`
  const field = (name: string) => `${server}?tab=config&field=${encodeURIComponent(name)}`
  const find = (name: string) => `/packages?q=${encodeURIComponent(name)}`
  switch (action.kind) {
    case 'edit_variables':
      return field(action.name === null ? 'env' : `env.${action.name}`)
    case 'set_environment':
      return `${server}?tab=config`
    case 'edit_command':
      return field('command')
    case 'edit_arguments':
      return field('args')
    case 'edit_folder':
      return field('cwd')
    case 'edit_url':
      return field('url')
    case 'edit_headers':
      return field('headers')
    case 'change_isolation':
    case 'grant_path':
      return field('isolation')
    case 'install_package':
    case 'reinstall_package':
    case 'allow_scripts':
      return find(action.package)
    case 'see_log':
      return `${server}?tab=logs`
    case 'approve_tools':
      return `${server}?tab=tools`
    case 'see_difference':
      return `/agents/${action.agent_type}?drift=1`
    case 'see_file':
      return `/agents/${action.agent_type}`
    case 'update_package':
    case 'see_package':
      return '/packages?tab=installed'
    case 'end_processes':
      return '/'
    case 'free_disk':
    case 'rotate_token':
    case 'see_settings':
      return '/settings'
    default:
      return undefined
  }
}
