import * as Type from 'typebox'
import { text } from './schema-fields.ts'

/**
 * What a person can do about an error, as data. The hint of the error says the same in a sentence. The dashboard makes a
 * button of it (`web/src/parts/repair`), and the command line a command (`cli/run/repair-command`).
 */

const of = <const K extends string, M extends Type.TProperties = Record<never, never>>(
  kind: K,
  description: string,
  members: M = {} as M,
) => Type.Object({ kind: Type.Literal(kind), ...members }, { description })

const Name = Type.String({ maxLength: 256, examples: ['GITHUB_TOKEN'] })
const Package = Type.String({ maxLength: 214, examples: ['@modelcontextprotocol/server-memory'] })
const AgentType = Type.String({ maxLength: 64, examples: ['cursor'] })

export const REPAIR_ACTIONS = [
  of('set_secret', 'Set a named secret', { name: Name }),
  of('set_environment', 'Set a variable of the environment of Toolroom itself', { name: Name }),
  of('set_variable', 'Set a variable in `env` of the server', { name: Name }),
  of('edit_variables', 'Check `env` of the server', {
    name: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      maxLength: 256,
      description: 'The variable that is probably wrong, if one is known',
    }),
  }),
  of('edit_command', 'Change `command`'),
  of('edit_arguments', 'Change `args`'),
  of('edit_folder', 'Change `cwd`, or create the folder'),
  of('edit_url', 'Change `url`'),
  of('edit_headers', 'Change `headers`'),
  of('install_runtime', 'Install a program that the server needs', {
    program: Type.String({ maxLength: 256, examples: ['uvx'] }),
    url: text('Where its installation is described', {
      maxLength: 256,
      examples: ['https://docs.astral.sh/uv'],
    }),
  }),
  of('install_package', 'Install the npm package that the server runs from', { package: Package }),
  of('reinstall_package', 'Install the npm package again', { package: Package }),
  of('allow_scripts', 'Install the npm package again with its install scripts', { package: Package }),
  of('allow_outgoing', 'Look at what the server would get of your variables and secrets, and allow it'),
  of('login', 'Log in to the server'),
  of('start_docker', 'Start the container engine, then the server'),
  of('pull_image', 'Download an image into the container engine', {
    image: Type.String({ maxLength: 512, examples: ['node:22'] }),
  }),
  of('change_isolation', 'Change `isolation` or `isolation_options`'),
  of('grant_path', 'Let the isolated server reach a path, in `isolation_options`', {
    path: Type.String({ maxLength: 4096, examples: ['/home/me/notes'] }),
    access: Type.Enum(['read', 'write']),
  }),
  of('start', 'Start the server again, when the cause outside of it is gone'),
  of('check', 'Check the connection to the server again'),
  of('see_log', 'Read the log of the server'),
  of('approve_tools', 'Review the tools of the server'),
  of('see_difference', 'Compare the entries that another program has changed, and keep one version', {
    agent_type: AgentType,
  }),
  of('see_file', "Correct the agent's file that cannot be read", { agent_type: AgentType }),
  of('update_package', 'Update an installed npm package', { package: Package }),
  of('see_package', 'Look at an installed npm package', { package: Package }),
  of('end_processes', 'End processes that have lost their agent'),
  of('free_disk', 'Free space on the disk of the data folder'),
  of('rotate_token', 'Replace the token'),
  of('see_settings', 'Correct the settings'),
] as const

export type RepairAction = Type.Static<(typeof REPAIR_ACTIONS)[number]>
