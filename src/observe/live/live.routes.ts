import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import { AppError } from '../../kernel/errors.ts'
import { operationsOf } from '../../kernel/rest-parts.ts'

const operation = operationsOf('Metrics')
const description = [
  'A WebSocket at `ws://…/api/ws/metrics`. No token is needed; with `PROTECT_READS`, send the token as the subprotocol',
  '`toolroom.<token>`. Text frames `{"v":1,"type","seq","event","ts","data"}`: first `hello`, then `snapshot`, then',
  'changes. `seq` counts the frames of this connection without gaps. A plain GET is answered with 426.',
  'docs/websocket.md describes every frame and has a client of ten lines.',
].join(' ')

/** Documents the stream. `api/http/websocket.ts` accepts connections before any routing. */
export function liveRoutes(): FastifyPluginAsyncTypebox {
  return async (app) => {
    const route = operation('Real-time metrics stream', description, {
      response: { 101: Type.Null({ description: 'The stream is open' }) },
      errors: ['upgrade_required', 'too_many_clients'],
    })
    app.get('/ws/metrics', route, async () => {
      throw new AppError('upgrade_required', 'This endpoint is a WebSocket', {
        hint: 'Connect with a WebSocket client, such as the one in docs/websocket.md',
      })
    })
  }
}
