import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import { AppError } from '../../kernel/errors.ts'
import type { AuditEntry } from '../../kernel/fact-bus.ts'
import { callerOf, component, operationsOf } from '../../kernel/rest-parts.ts'
import { boolean, closed, textOrNull } from '../../kernel/schema-fields.ts'

const Autostart = Type.Object({
  manager: textOrNull('systemd, launchd or Task Scheduler; null if this system has none of them', {
    examples: ['systemd'],
  }),
  file: textOrNull('The file that describes Toolroom to it, whether it exists or not', {
    examples: ['/home/me/.config/systemd/user/toolroom.service'],
  }),
  starts_at_login: boolean('The service manager starts Toolroom when you log in'),
  problem: textOrNull('Why it cannot be installed here'),
})
type Autostart = Type.Static<typeof Autostart>
component({ Autostart }, 'Whether Toolroom starts at login')

const AutostartInput = closed({
  starts_at_login: Type.Literal(true, {
    expected: 'true: `toolroom service uninstall` removes it',
    description: 'It is removed with `toolroom service uninstall`',
  }),
})
component({ AutostartInput }, 'What the service manager does')

interface Deps {
  readonly state: () => Promise<Autostart>
  /** Rejects with a sentence. */
  readonly install: () => Promise<void>
  readonly audit: (entry: AuditEntry) => Promise<void>
}

const operation = operationsOf('Service')
const response = { 200: Autostart }

export function autostartRoutes({ state, install, audit }: Deps): FastifyPluginAsyncTypebox {
  return async (app) => {
    const get = operation(
      'Show whether Toolroom starts at login',
      'Asks the service manager of your user account. Changes nothing.',
      { response },
    )
    app.get('/service', get, state)

    const put = operation(
      'Start Toolroom at login',
      'Writes a file for the service manager of your user account, as `toolroom service install` does. The service that runs now goes on; the next start at a login, or by an agent, is that of the service manager.',
      { body: AutostartInput, response, errors: ['not_supported'] },
    )
    app.put('/service', put, async (request) => {
      const { problem, file } = await state()
      if (problem !== null) throw refused(problem)
      const by = callerOf(request)
      await audit({ action: 'autostart_installed', subject: 'service', ...by, detail: { file } })
      await install().catch((error: Error) => {
        throw refused(error.message)
      })
      return state()
    })
  }
}

const refused = (problem: string): AppError =>
  new AppError('not_supported', problem, {
    hint: 'Start Toolroom with `toolroom up --detach` after each login',
  })
