import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { ErrorCode } from '../../kernel/error-catalogue.ts'
import { callerOf, operationsOf, wholeList } from '../../kernel/rest-parts.ts'
import * as schema from './settings.schema.ts'
import type { SettingsRoom } from './settings.service.ts'

const operation = operationsOf('Service')
const errors: ErrorCode[] = ['config_unparsable', 'set_elsewhere']

export function settingsRoutes(settings: SettingsRoom): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = operation(
      'List all settings',
      'Where each value comes from, and whether it needs a restart. Secrets are not shown.',
      { response: { 200: schema.SettingList }, errors: ['config_unparsable'] },
    )
    app.get('/settings', list, async () => wholeList(settings.list()))

    const change = operation(
      'Change settings',
      'Writes them to config.json in the data folder, all or none. Refused for a setting that a flag, a variable or an .env file sets, because those take precedence.',
      { body: schema.SettingsPatch, response: { 200: schema.SettingList }, errors },
    )
    app.patch('/settings', change, async (request) =>
      wholeList(await settings.change(request.body as schema.SettingsPatch, callerOf(request))),
    )

    const rotate = operation(
      'Replace the token',
      'Generates and stores a new token. The old one stops working at once. Gateway keys are not affected.',
      { response: { 200: schema.NewToken }, errors },
    )
    app.post('/token/rotate', rotate, async (request) => ({
      token: await settings.rotateToken(callerOf(request)),
    }))

    const shutdown = operation(
      'Shut the service down',
      'Stops all servers and ends the service, as SIGTERM does, after this response.',
      { response: { 202: schema.Stopping } },
    )
    app.post('/shutdown', shutdown, async (request, reply) => {
      await settings.announceShutdown(callerOf(request))
      reply.raw.once('close', () => settings.shutDown())
      return reply.code(202).send({ status: 'stopping' })
    })
  }
}
