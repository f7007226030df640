import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { ErrorCode } from '../../kernel/errors.ts'
import { wholeList } from '../../kernel/wire.ts'
import * as schema from './settings.schema.ts'
import type { SettingsRoom } from './settings.service.ts'

const tags = ['Service']
const errors: ErrorCode[] = ['config_unparsable', 'set_elsewhere']
const config = { errors }

export function settingsRoutes(settings: SettingsRoom): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = {
      tags,
      summary: 'List all settings',
      description: 'Where each value comes from, and whether it needs a restart. Secrets are not shown.',
      response: { 200: schema.SettingList },
    }
    app.get('/settings', { schema: list, config: { errors: ['config_unparsable'] } }, async () =>
      wholeList(settings.list()),
    )

    const change = {
      tags,
      summary: 'Change settings',
      description:
        'Writes them to config.json in the data folder, all or none. Refused for a setting that a flag, a variable or an .env file sets, because those take precedence.',
      body: schema.SettingsPatch,
      response: { 200: schema.SettingList },
    }
    app.patch('/settings', { schema: change, config }, async (request) =>
      wholeList(await settings.change(request.body as schema.SettingsPatch, { request_id: request.id })),
    )

    const rotate = {
      tags,
      summary: 'Replace the token',
      description:
        'Generates and stores a new token. The old one stops working at once. Gateway keys are not affected.',
      response: { 200: schema.NewToken },
    }
    app.post('/token/rotate', { schema: rotate, config }, async (request) => ({
      token: await settings.rotateToken({ request_id: request.id }),
    }))

    const shutdown = {
      tags,
      summary: 'Shut the service down',
      description: 'Stops all servers and ends the service, as SIGTERM does, after this response.',
      response: { 202: schema.Stopping },
    }
    app.post('/shutdown', { schema: shutdown }, async (request, reply) => {
      await settings.announceShutdown({ request_id: request.id })
      reply.raw.once('close', () => settings.shutDown())
      return reply.code(202).send({ status: 'stopping' })
    })
  }
}
