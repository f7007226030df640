import { sql } from 'kysely'

/** Actions whose subject is a server, besides `server_…`. */
const SERVER_ACTIONS = [
  ...['tools', 'prompts', 'instructions'].flatMap((list) => [`${list}_changed`, `${list}_held`]),
  ...['tool', 'prompt', 'instructions'].map((kind) => `${kind}_approved`),
]

export const isAboutServer = (action: string): boolean =>
  action.startsWith('server_') || SERVER_ACTIONS.includes(action)

/** `isAboutServer` as a condition on the column `action`. */
export const aboutServers = sql<boolean>`(action glob 'server_*' or action in (${sql.join(SERVER_ACTIONS)}))`

/** What was done, for a log line. Events have sentences. */
export const auditText = (action: string, subject: string): string =>
  `${action.replaceAll('_', ' ')}: ${subject}`

/** A damaged row must not prevent the service from starting. */
export function detailOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch {
    return { note: 'the details of this row cannot be read' }
  }
}

type Detail = Readonly<Record<string, unknown>>
type Sentence = (subject: string, detail: Detail) => string

/** Every action of the audit trail (a test holds that none is missing), and what happened in one sentence for people. */
const SENTENCES: Readonly<Record<string, Sentence>> = {
  server_added: (id) => `The server ${id} was added`,
  server_updated: (id) => `The settings of ${id} were changed`,
  server_removed: (id) => `The server ${id} was removed`,
  server_started: (id) => `${id} was started by you`,
  server_restarted: (id) => `${id} was restarted by you`,
  server_stopped: (id) => `${id} was stopped by you`,
  server_secret_revealed: (id) => `A secret of ${id} was shown`,
  server_login_started: (id) => `A login at ${id} was started`,
  server_login_completed: (id) => `Toolroom is logged in at ${id}`,
  server_login_failed: (id) => `The login at ${id} failed`,
  server_login_ended: (id) => `The login at ${id} has ended`,
  server_logout: (id) => `Toolroom is logged out of ${id}`,
  tools_changed: (id) => `${id} changed its tools`,
  tools_held: (id) => `New or changed tools of ${id} wait for approval`,
  tool_approved: (id, { tool }) => `The tool ${text(tool)} of ${id} was approved`,
  prompts_changed: (id) => `${id} changed its prompts`,
  prompts_held: (id) => `New or changed prompts of ${id} wait for approval`,
  prompt_approved: (id, { prompt }) => `The prompt ${text(prompt)} of ${id} was approved`,
  instructions_changed: (id) => `${id} changed its instructions`,
  instructions_held: (id) => `The instructions of ${id} wait for approval`,
  instructions_approved: (id) => `The instructions of ${id} were approved`,
  agent_config_changed: (agent, { path }) => `${text(path, `The file of ${agent}`)} was written`,
  agent_config_accepted: (agent, { path }) =>
    `${text(path, `The file of ${agent}`)} stays as another program has changed it`,
  agent_config_undone: (agent, { path }) => `A change of ${text(path, `the file of ${agent}`)} was undone`,
  agent_tools_changed: (agent) => `The tools that ${agent} gets were changed`,
  key_added: (id, { agent_type }) => `A gateway key for ${text(agent_type, id)} was created`,
  key_removed: (id, { agent_type }) => `A gateway key of ${text(agent_type, id)} was removed`,
  preset_saved: (name) => `The preset ${name} was saved`,
  preset_removed: (name) => `The preset ${name} was deleted`,
  image_pulled: (name) => `The image ${name} was pulled`,
  package_installed: (name) => `The package ${name} was installed`,
  package_updated: (name) => `The package ${name} was updated`,
  package_rolled_back: (name) => `The package ${name} is back at its previous version`,
  package_removed: (name) => `The package ${name} was uninstalled`,
  package_install_undone: (name) => `The installation of ${name} failed and was undone`,
  saved_call_added: (id, { name }) => `The call ${text(name, id)} was saved`,
  saved_call_updated: (id, { name }) => `The saved call ${text(name, id)} was changed`,
  saved_call_removed: (id, { name }) => `The saved call ${text(name, id)} was deleted`,
  secret_set: (name) => `The secret ${name} was saved`,
  secret_deleted: (name) => `The secret ${name} was deleted`,
  secrets_exported: () => 'Everything was exported, with secrets sealed by a passphrase',
  autostart_installed: () => 'Toolroom starts at every login',
  settings_changed: () => 'Settings were changed',
  notices_muted: () => 'Which notices are shown was changed',
  logs_cleared: () => 'Log lines were cleared',
  orphan_ended: (pid, { owner }) => `A leaked process of ${text(owner, 'an agent')} was ended (pid ${pid})`,
  token_rotated: () => 'The token was replaced',
  token_guessing: (address) => `Wrong tokens were sent from ${address}`,
  login: () => 'The dashboard was opened with a login code',
  shutdown: () => 'Toolroom was shut down over the API',
}

/** A row of another version may have an action that is not known here. */
export function auditSentence(action: string, subject: string, detail: Detail): string {
  const sentence = Object.hasOwn(SENTENCES, action) ? SENTENCES[action] : undefined
  return sentence ? sentence(subject, detail) : `${action.replaceAll('_', ' ')}: ${subject}`
}

const text = (value: unknown, otherwise = ''): string =>
  typeof value === 'string' && value !== '' ? value : otherwise
