import * as Type from 'typebox'
import { orNull } from '../../kernel/rest-parts.ts'
import { boolean, integer, optional, partial } from '../../kernel/schema-fields.ts'
import { REQUEST_S_DESCRIPTION } from '../shared/call-recorder.ts'
import { isolationInput, isolationView } from './isolation-settings.ts'

const seconds = (minimum: number, maximum: number, description: string) =>
  integer(description, { minimum, maximum })

const fields = {
  start_mode: Type.Enum(['on_demand', 'eager', 'manual'], {
    description:
      '`on_demand`: a call starts it, and it stops when idle. `eager`: it starts with Toolroom. `manual`: a person starts it, and it starts again with Toolroom if it was running.',
  }),
  auto_start: boolean('`true` is the same as `start_mode: "eager"`, and `false` alone as `"on_demand"`'),
  idle_timeout_s: seconds(1, 604_800, 'For `on_demand`: seconds without a call until it goes to sleep'),
  sharing: Type.Enum(['auto', 'shared', 'per_agent', 'per_session'], {
    description:
      'Whether agents share one process. `auto`: they share until the server asks its client something, logs for a call or announces tasks; after that, further sessions get a process of their own',
  }),
  max_instances: integer('How many processes of their own sessions and agents may have at a time', {
    minimum: 1,
    maximum: 64,
  }),
}
const restart = {
  policy: Type.Enum(['on_failure', 'always', 'never']),
  max_delay_s: seconds(1, 86_400, 'Longest pause between two restarts'),
}
const timeouts = {
  start_s: seconds(1, 600, 'For the handshake and the list of tools'),
  request_s: orNull(seconds(1, 3600, REQUEST_S_DESCRIPTION)),
  stop_s: seconds(
    1,
    60,
    'Until it is killed: two sevenths after its input is closed, the rest after SIGTERM',
  ),
}

const some = { minProperties: 1 }
export const settingsInput = {
  ...isolationInput,
  ...optional({ ...fields, restart: partial(restart, some), timeouts: partial(timeouts, some) }),
}
export const settingsView = {
  ...isolationView,
  ...fields,
  restart: Type.Object(restart),
  timeouts: Type.Object(timeouts),
}

export const StartQuery = partial({
  wait_s: integer('How long the response may wait for the start; 0: not at all', {
    minimum: 0,
    maximum: 600,
    default: 30,
  }),
})

const Input = Type.Object(settingsInput)
export type RunSettingsInput = Type.Static<typeof Input>
export type StartMode = Type.Static<typeof fields.start_mode>
export type Sharing = Type.Static<typeof fields.sharing>
